import { formatKey } from "@bulrush/model";
import type { WorkloadEndpointID } from "@bulrush/proto";

/** The keys under which a host's agent says how it and its endpoints are: `/calico/felix/v2/REGION/host/HOST/...`. */
export class StatusKeys {
  readonly #hostname: string;
  /** All of this host; ends in `/`. */
  readonly host: string;

  /** `region`: OpenstackRegion, "" for none. */
  constructor(hostname: string, region: string) {
    this.#hostname = hostname;
    this.host = `/calico/felix/v2/${region === "" ? "no-region" : `region-${region}`}/host/${hostname}/`;
  }

  /** Goes away by itself. */
  get status(): string {
    return `${this.host}status`;
  }

  /** Stays. */
  get lastStatus(): string {
    return `${this.host}last_reported_status`;
  }

  workload({ endpoint, orchestrator, workload }: WorkloadEndpointID): string {
    // Escaped as in the key of the endpoint itself.
    const hostname = this.#hostname;
    const path = formatKey({ type: "WorkloadEndpoint", hostname, orchestrator, workload, endpoint });
    return this.host + path.slice(path.indexOf("/workload/") + 1);
  }

  hostEndpoint(endpoint: string): string {
    const path = formatKey({ type: "HostEndpoint", hostname: this.#hostname, endpoint });
    return this.host + path.slice(path.lastIndexOf("/endpoint/") + 1);
  }

  /** Keys of endpoints, among those below {@link host}. */
  isEndpoint(key: string): boolean {
    return key.startsWith(`${this.host}workload/`) || key.startsWith(`${this.host}endpoint/`);
  }
}
