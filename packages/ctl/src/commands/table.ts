import type { Command } from "../cli/command.ts";

/** A command as the list knows it: its code is loaded when it is run. */
export interface CommandEntry extends Pick<Command, "name" | "summary"> {
  load(): Promise<Command>;
}

/** All commands, in the order of the help. Each in a file of its own name. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "validate",
    summary: "Check manifests and say what is wrong, by file and field",
    load: async () => (await import("./validate.ts")).validate,
  },
  {
    name: "convert",
    summary: "Show the internal key-value pairs that manifests become",
    load: async () => (await import("./convert.ts")).convert,
  },
  {
    name: "selector",
    summary: "Try a label selector: match, canonical form, id",
    load: async () => (await import("./selector.ts")).selector,
  },
  {
    name: "calc",
    summary: "Show what the calculation graph sends to one host's dataplane",
    load: async () => (await import("./calc.ts")).calc,
  },
  {
    name: "render",
    summary: "Show the nftables ruleset of one host",
    load: async () => (await import("./render.ts")).render,
  },
  {
    name: "explain",
    summary: "Say whether a connection is allowed, and which rule decides",
    load: async () => (await import("./explain.ts")).explain,
  },
  {
    name: "rules",
    summary: "Say where each rule that agents count was written",
    load: async () => (await import("./rules.ts")).rules,
  },
  {
    name: "test",
    summary: "Check that policy does what a file of expectations says",
    load: async () => (await import("./test.ts")).testCommand,
  },
  {
    name: "diff",
    summary: "Say which connections change if manifests are applied, and through which rule",
    load: async () => (await import("./diff.ts")).diff,
  },
  {
    name: "get",
    summary: "Show what the datastore holds",
    load: async () => (await import("./get.ts")).get,
  },
  {
    name: "apply",
    summary: "Create or replace resources in the datastore",
    load: async () => (await import("./apply.ts")).apply,
  },
  {
    name: "delete",
    summary: "Remove resources from the datastore",
    load: async () => (await import("./delete.ts")).deleteCommand,
  },
  {
    name: "initialise",
    summary: "Create what every datastore needs: ClusterInformation and the tiers",
    load: async () => (await import("./initialise.ts")).initialise,
  },
  {
    name: "migrate",
    summary: "Copy everything from one datastore into another, with both locked",
    load: async () => (await import("./migrate.ts")).migrate,
  },
  {
    name: "tunnel-addresses",
    summary: "Give a node the addresses of its tunnel devices, out of the pools",
    load: async () => (await import("../tunnel-addresses/tunnel-addresses.ts")).tunnelAddresses,
  },
  {
    name: "counters",
    summary: "Show how many packets each rule of this host has seen",
    load: async () => (await import("./counters.ts")).counters,
  },
  {
    name: "endpoints",
    summary: "Show what the agent of this host guards, and by which policies",
    load: async () => (await import("../agent/endpoints.ts")).endpoints,
  },
  {
    name: "drift",
    summary: "Show what this host's kernel has other than meant, and what was repaired lately",
    load: async () => (await import("../agent/drift.ts")).drift,
  },
  {
    name: "flows",
    summary: "Show connections that rules of this host have denied or logged",
    load: async () => (await import("../agent/flows.ts")).flows,
  },
  {
    name: "staged",
    summary: "Show which connections of this host's pods staged policies would end",
    load: async () => (await import("../agent/staged.ts")).staged,
  },
  {
    name: "limits",
    summary: "Work out Typha's connection limit for a cluster that is not there yet",
    load: async () => (await import("../limits/limits.ts")).limits,
  },
  {
    name: "clients",
    summary: "Show who is connected to Typha, and where each client stands",
    load: async () => (await import("../fleet/clients.ts")).clients,
  },
  {
    name: "lag",
    summary: "Show how long changes take to be in force, and who is behind",
    load: async () => (await import("../fleet/lag.ts")).lag,
  },
  {
    name: "wait",
    summary: "Wait until every agent has what is in manifests in its kernel",
    load: async () => (await import("../fleet/wait.ts")).wait,
  },
  {
    name: "watch",
    summary: "Follow one of Typha's streams",
    load: async () => (await import("../stream/watch.ts")).watch,
  },
  {
    name: "tls-check",
    summary: "Say what is wrong with the certificates between agents and Typha",
    load: async () => (await import("../tls/tls-check.ts")).tlsCheck,
  },
];
