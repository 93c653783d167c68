/** What others changed in one transaction. */
export interface NftChange {
  /** Tables that it touched: "ip calico". */
  readonly tables: ReadonlySet<string>;
  /** The program and its process id, as the kernel names them: "nft (1234)". "" on kernels that do not say. */
  readonly by: string;
}

/** Callbacks run on the thread that opened the watch, never from inside one of its calls. */
export interface NftWatchOptions {
  /** Path or open file descriptor of the namespace to watch. Default: the calling thread's. */
  readonly namespace?: string | number;
  readonly onChange: (change: NftChange) => void;
  /** Some changes did not fit into the buffer: anything may have been touched. */
  readonly onLost: () => void;
  /** The watch has ended by itself. */
  readonly onError: (error: Error) => void;
}

/**
 * Listens to what others change in nf_tables.
 *
 * A listener makes every transaction dearer for whoever runs it (the kernel writes one message an element), so a program
 * that writes itself pauses its own watch meanwhile: it is told nothing of what it did, and pays nothing. What others do
 * in that moment is not told either: compare `generation` before and after.
 */
export interface NftWatch {
  /** Calls do not nest: one `resume` is enough. */
  pause(): void;
  resume(): void;
  /** Stops at once; no callback comes after it. Resolves when the file descriptor is closed. */
  close(): Promise<void>;
}
