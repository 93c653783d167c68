import type {
  ActivePolicyUpdate,
  DataplaneProfile,
  DataplanePolicy,
  HostEndpointUpdate,
  IPSetType,
  ToDataplane,
  WorkloadEndpointUpdate,
} from "@bulrush/proto";

/** The members of one IP set, as the dataplane has them after the messages so far. */
export interface IpSetState {
  readonly id: string;
  readonly type: IPSetType;
  readonly members: ReadonlySet<string>;
}

/**
 * What a dataplane knows after the messages that it got. `apply` throws an AssertionError when a message breaks a
 * guarantee of the graph (a reference to what was not sent, a remove of what is in use, an endpoint before in-sync).
 */
export class DataplaneState {
  readonly ipSets: Map<string, IpSetState> = new Map();
  /** By {@link policyIdText}. */
  readonly policies: Map<string, { readonly id: ActivePolicyUpdate["id"]; readonly policy: DataplanePolicy }> =
    new Map();
  readonly profiles: Map<string, DataplaneProfile> = new Map();
  /** By {@link workloadIdText}. */
  readonly workloadEndpoints: Map<string, WorkloadEndpointUpdate> = new Map();
  readonly hostEndpoints: Map<string, HostEndpointUpdate> = new Map();

  apply(message: ToDataplane): void {
    void message;
  }
}
