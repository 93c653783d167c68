/**
 * To be imported first: the size is read when the pool is first used. Each monitor of the kernel (routes, nf_tables,
 * packet log) holds one thread of it for as long as it listens, and the usual four are needed for files, names and TLS.
 */
const THREADS = "8";

process.env["UV_THREADPOOL_SIZE"] ??= THREADS;

export {};
