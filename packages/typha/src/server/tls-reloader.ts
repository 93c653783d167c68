import { type CancelTimer, type Clock, messageOf } from "@bulrush/base";
import type { Logger } from "@bulrush/service";
import { checkTlsFiles, readTlsFiles, sameTlsFiles, type SyncTlsSettings, type TlsMaterial } from "./tls-material.ts";

export interface TlsReloaderOptions {
  readonly settings: SyncTlsSettings;
  /** What is served at the start. */
  readonly material: TlsMaterial;
  readonly clock: Clock;
  readonly logger: Logger;
  /** New material that is fit to be served. */
  readonly onReloaded: (material: TlsMaterial) => void;
  /** Each reload and each refusal, once. */
  readonly onResult: (result: "reloaded" | "refused") => void;
}

/** How often the files are read. They are swapped by renames of links, which file events miss in many ways. */
const READ_EVERY_MS = 10_000;

/**
 * Reads the key, certificate and CA again now and then. New ones that fit together take the place of the old; ones that do
 * not are named, and the old ones stay. A change that is half written looks the same, so only what is still bad at the
 * next look is refused.
 *
 * Invariant: a read or a timer is under way until `close`.
 */
export class TlsReloader {
  readonly #options: TlsReloaderOptions;
  #material: TlsMaterial;
  /** What was bad at the last look, and whether that was said. */
  #bad: { readonly reason: string; isSaid: boolean } | undefined = undefined;
  #cancelTimer: CancelTimer = () => {};
  #closed = false;

  constructor(options: TlsReloaderOptions) {
    this.#options = options;
    this.#material = options.material;
    this.#schedule();
  }

  /** Why the files that are there are not served; undefined: they are. */
  problem(): string | undefined {
    return this.#bad?.isSaid === true ? this.#bad.reason : undefined;
  }

  close(): void {
    this.#closed = true;
    this.#cancelTimer();
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#cancelTimer = this.#options.clock.after(READ_EVERY_MS, () => void this.#look().then(() => this.#schedule()));
  }

  async #look(): Promise<void> {
    const { settings, clock, logger, onReloaded, onResult } = this.#options;
    try {
      const files = await readTlsFiles(settings);
      if (this.#closed) return;
      if (sameTlsFiles(files, this.#material)) {
        this.#bad = undefined;
        return;
      }
      const material = checkTlsFiles(settings, files, clock.nowMs());
      this.#bad = undefined;
      this.#material = material;
      onReloaded(material);
      onResult("reloaded");
      logger.info("New certificates are served", { expiresAt: new Date(material.expiresAtMs).toISOString() });
    } catch (error) {
      if (this.#closed) return;
      const reason = messageOf(error);
      if (this.#bad?.reason !== reason) {
        this.#bad = { reason, isSaid: false };
        return;
      }
      if (this.#bad.isSaid) return;
      this.#bad.isSaid = true;
      onResult("refused");
      logger.error("New certificates are not fit to be served, the old ones stay", { reason });
    }
  }
}
