export type { CommandIo, Output, Style } from "./cli/io.ts";
export { CTL_ERROR_CODES, CtlError, type CtlErrorCode } from "./errors.ts";
export { main } from "./main.ts";
