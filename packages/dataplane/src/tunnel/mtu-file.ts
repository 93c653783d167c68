import { messageOf } from "@bulrush/base";
import type { Encapsulation, ToDataplane } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import type { HostFiles } from "../file/host-files.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import { podMtu } from "./host-mtu.ts";

/**
 * Tells those who make pods' interfaces (a CNI plugin) the MTU that fits into every tunnel that pods' packets may take.
 * Nothing is written before it is known which tunnels there are.
 */
export class MtuFile {
  readonly #config: DataplaneConfig;
  readonly #interfaces: Interfaces;
  #encapsulation: Encapsulation | undefined;
  #isStale = true;
  #written: string | undefined;

  constructor(config: DataplaneConfig, interfaces: Interfaces) {
    this.#config = config;
    this.#interfaces = interfaces;
    interfaces.onChange.add((name) => {
      if (config.mtuInterfacePattern.test(name)) this.#isStale = true;
    });
  }

  onUpdate(message: ToDataplane): void {
    if (message.msg !== "Encapsulation") return;
    this.#encapsulation = message;
    this.#isStale = true;
  }

  /** Failures in words; they are tried again at the next call. Never throws. */
  apply(files: HostFiles): string[] {
    const path = this.#config.mtuFile;
    if (path === "" || !this.#isStale || this.#encapsulation === undefined) return [];
    const text = String(podMtu(this.#config, this.#encapsulation, this.#interfaces));
    try {
      this.#written ??= files.read(path);
      if (text !== this.#written) files.write(path, text);
    } catch (error) {
      this.#written = undefined;
      return [`Write the MTU of pods to ${path}: ${messageOf(error)}`];
    }
    this.#written = text;
    this.#isStale = false;
    return [];
  }
}
