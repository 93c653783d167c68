import type { CancelTimer, Clock } from "@bulrush/base";
import { messageOf } from "@bulrush/base";
import { silentLogger } from "@bulrush/service";
import { readTlsMaterial, type SyncTlsSettings, type TlsMaterial } from "../server/tls-material.ts";
import { TlsReloader } from "../server/tls-reloader.ts";

export interface CertificatesOptions {
  readonly settings: SyncTlsSettings;
  readonly clock: Clock;
  readonly onReloaded: (material: TlsMaterial) => void;
  /** Each reload and each refusal, once. */
  readonly onResult: (result: "reloaded" | "refused") => void;
}

const RETRY_MS = 1000;

/**
 * The certificates of the sync port as the main thread sees them, for the admin API, metrics and health: the workers,
 * which serve them, read the files themselves and log what they find.
 */
export class Certificates {
  readonly #options: CertificatesOptions;
  #material: TlsMaterial | undefined = undefined;
  #reloader: TlsReloader | undefined = undefined;
  #problem: string | undefined = undefined;
  #cancelRetry: CancelTimer = () => {};

  constructor(options: CertificatesOptions) {
    this.#options = options;
    this.#start();
  }

  /** Unix ms. */
  get expiresAtMs(): number | undefined {
    return this.#material?.expiresAtMs;
  }

  /** Why the files that are there are not served; undefined: they are. */
  get problem(): string | undefined {
    return this.#reloader === undefined ? this.#problem : this.#reloader.problem();
  }

  close(): void {
    this.#cancelRetry();
    this.#reloader?.close();
  }

  #start(): void {
    const { settings, clock, onReloaded, onResult } = this.#options;
    try {
      const material = readTlsMaterial(settings);
      this.#material = material;
      this.#reloader = new TlsReloader({
        settings,
        material,
        clock,
        logger: silentLogger,
        onResult,
        onReloaded: (fresh) => {
          this.#material = fresh;
          onReloaded(fresh);
        },
      });
    } catch (error) {
      this.#problem = messageOf(error);
      this.#cancelRetry = clock.after(RETRY_MS, () => this.#start());
    }
  }
}
