/* SPDX-License-Identifier: Apache-2.0 */
/* The engines of a GPU, and the phases of a session: one list for the server, the policies, the
 * timing model, the simulator and software GPUs. */
#ifndef BASE_GPU_ENGINE_H
#define BASE_GPU_ENGINE_H

/* COMPUTE: kernels, and operations that move bytes within a GPU. H2D, D2H: copies to the device and
 * to the host. */
enum gpu_engine { GPU_COMPUTE, GPU_H2D, GPU_D2H, GPU_ENGINES };
#define GPU_ENGINE_BIT(engine) (1u << (engine))

/* The phase of a session (Strings IV-B3): a kernel launch, a copy to the device, a copy to the
 * host; DFL: anything else, and what is not known. */
enum gpu_phase { GPU_PHASE_DFL, GPU_PHASE_KL, GPU_PHASE_H2D, GPU_PHASE_D2H };
#define GPU_PHASES (GPU_ENGINES + 1) /* each engine has its own, in their order */

/* The phase in which a session uses the engine. */
static inline enum gpu_phase gpu_phase_of(enum gpu_engine engine)
{
    return (enum gpu_phase)((unsigned)engine + GPU_PHASE_KL);
}

/* The engine that the phase uses; not of DFL. */
static inline enum gpu_engine gpu_engine_of(enum gpu_phase phase)
{
    return (enum gpu_engine)((unsigned)phase - GPU_PHASE_KL);
}

#endif
