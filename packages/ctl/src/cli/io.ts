import type { styleText } from "node:util";

/** A style, or several, of node:util's `styleText`: "red", ["bold", "dim"]. */
export type Style = Parameters<typeof styleText>[0];

/** One way out: standard output or standard error. */
export interface Output {
  /**
   * Writes text as it is. Resolves when more may be written: await it. Throws CTL_OUTPUT_CLOSED when the reader went
   * away, CTL_OUTPUT_FAILED for another reason.
   */
  write(text: string): Promise<void>;
  /** Writes what is still held back. */
  flush(): Promise<void>;
  /** True on a terminal. */
  readonly terminal: boolean;
  /** `text` in a style where colours are wanted, else as it is. */
  style(style: Style, text: string): string;
}

/** Everything that a command has of the world. */
export interface CommandIo {
  readonly out: Output;
  readonly err: Output;
  /** Read by a command that is given "-"; once. */
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
}
