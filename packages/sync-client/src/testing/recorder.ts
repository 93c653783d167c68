import type { SyncStatus, Update } from "@bulrush/model";
import type { LogFields, Logger } from "@bulrush/service";
import type { SyncClientCallbacks } from "../options.ts";

/** For tests: callbacks that write down what they get, in short form: `+path` new, `~path` updated, `-path` deleted. */
export class Recorder implements SyncClientCallbacks {
  readonly calls: string[] = [];
  readonly state: Map<string, unknown> = new Map();
  sequence = 0;
  /** While set, every call waits for it. */
  gate: Promise<void> | undefined;

  onStatusUpdated(status: SyncStatus): void | Promise<void> {
    this.calls.push(status);
    return this.gate;
  }

  onUpdates(updates: readonly Update[]): void | Promise<void> {
    for (const { path, value, type } of updates) {
      this.calls.push(
        `${{ new: "+", updated: "~", deleted: "-", unknown: "?" }[type]}${path.slice(path.lastIndexOf("/") + 1)}`,
      );
      if (value === undefined) this.state.delete(path);
      else this.state.set(path, value);
    }
    return this.gate;
  }

  onSequence(sequence: number): void | Promise<void> {
    this.calls.push("#");
    this.sequence = sequence;
    return this.gate;
  }

  /** What came since the last call. */
  take(): string[] {
    return this.calls.splice(0);
  }
}

/** For tests: a logger that keeps its warnings. */
export class WarningLog implements Logger {
  readonly warnings: { readonly message: string; readonly fields: LogFields | undefined }[] = [];
  debug(): void {}
  info(): void {}
  warn(message: string, fields?: LogFields): void {
    this.warnings.push({ message, fields });
  }
  error(): void {}
  fatal(): void {}
  child(): Logger {
    return this;
  }
  isEnabled(): boolean {
    return true;
  }
}
