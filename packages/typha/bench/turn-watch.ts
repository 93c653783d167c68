/** How long the turns of this process's event loop are: nobody is served, and no timer fires, within one. */
export class TurnWatch {
  #running = false;
  #wallMs = 0;
  #cpuMs = 0;

  /** Watches from here on, by a callback in every turn: the loop never sleeps. */
  begin(): void {
    this.#running = true;
    this.#wallMs = 0;
    this.#cpuMs = 0;
    this.#turn(performance.now(), process.cpuUsage());
  }

  /** The longest turn, and the most CPU of all threads in one. */
  end(): { readonly wallMs: number; readonly cpuMs: number } {
    this.#running = false;
    return { wallMs: this.#wallMs, cpuMs: this.#cpuMs };
  }

  #turn(sinceMs: number, since: NodeJS.CpuUsage): void {
    setImmediate(() => {
      const nowMs = performance.now();
      const { user, system } = process.cpuUsage(since);
      this.#wallMs = Math.max(this.#wallMs, nowMs - sinceMs);
      this.#cpuMs = Math.max(this.#cpuMs, (user + system) / 1000);
      if (this.#running) this.#turn(nowMs, process.cpuUsage());
    });
  }
}
