import { must } from "@bulrush/base";
import { type LinkChange, openRouteConnection, type RouteConnection, type RouteOperation } from "@bulrush/netlink";
import { type NftConnection, openNftConnection, Transaction } from "@bulrush/nftables";
import type { LabSession } from "../lab/session.ts";
import type { Choices } from "../random/choices.ts";
import type { DriftItem } from "./watch.ts";

const CALICO = { family: "ip", name: "calico" } as const;
const NOISE = { family: "ip", name: "noise" } as const;
const NOISE_SET = { name: "s", key: ["ipv4_addr"], interval: false } as const;
/** More notices than the agent's buffers hold. */
const NOISE_ELEMENTS = 120_000;
const NOISE_ROUTES = 20_000;

/** The kernel of one host, as somebody else on it may change it. */
export interface HostHands {
  readonly name: string;
  readonly nft: NftConnection;
  readonly routes: RouteConnection;
  close(): void;
}

export function openHands(session: LabSession, name: string): HostHands {
  const namespace = must(session.cluster.network.host(name), name).namespace.path;
  const nft = openNftConnection({ namespace });
  const routes = openRouteConnection({ namespace });
  return {
    name,
    nft,
    routes,
    close() {
      nft.close();
      routes.close();
    },
  };
}

/** Something that somebody does to a host, and how the agent names it. */
export interface Fault {
  readonly name: string;
  /** Packets may pass, or be lost, until it is repaired: the rules themselves are gone. */
  readonly opens: boolean;
  /** Does it, and says what the repair must be called. */
  readonly strike: (hands: HostHands, choices: Choices) => ((item: DriftItem) => boolean) | undefined;
}

const isRuleset = ({ kind }: DriftItem): boolean => kind !== "route" && kind !== "neighbour" && kind !== "device";
const isRoute = ({ kind }: DriftItem): boolean => kind === "route";

export const FAULTS: readonly Fault[] = [
  {
    name: "our table deleted",
    opens: true,
    strike({ nft }) {
      nft.run(new Transaction().deleteTable(CALICO));
      return isRuleset;
    },
  },
  {
    name: "our table flushed of its rules",
    opens: true,
    strike({ nft }) {
      const transaction = new Transaction();
      for (const name of nft.readTable("ip", "calico")?.chains.keys() ?? []) transaction.flushChain(CALICO, name);
      nft.run(transaction);
      return isRuleset;
    },
  },
  {
    name: "sets deleted, with the rules that use them",
    opens: true,
    strike({ nft }, choices) {
      const table = must(nft.readTable("ip", "calico"), "our table");
      const victims = choices.some([...table.sets.keys()], 1, 8);
      const transaction = new Transaction();
      for (const name of table.chains.keys()) if (/-cali-p[io]-/.test(name)) transaction.flushChain(CALICO, name);
      for (const name of victims) transaction.deleteSet(CALICO, name);
      nft.run(transaction);
      return isRuleset;
    },
  },
  {
    name: "sets flushed",
    opens: true,
    strike({ nft }) {
      const transaction = new Transaction();
      for (const { elements, name } of nft.readTable("ip", "calico")?.sets.values() ?? [])
        if (elements.size > 0) transaction.flushSet(CALICO, name);
      nft.run(transaction);
      return isRuleset;
    },
  },
  {
    name: "routes of workloads deleted",
    opens: false,
    strike({ routes }) {
      for (const route of workloadRoutes(routes)) routes.write({ kind: "delete-route", route });
      return isRoute;
    },
  },
  {
    name: "routes of workloads led astray",
    opens: false,
    strike({ routes }) {
      const lo = must(routes.link("lo"), "lo").index;
      for (const route of workloadRoutes(routes))
        routes.write({ kind: "replace-route", route: { ...route, device: lo } });
      return isRoute;
    },
  },
  {
    name: "interfaces of workloads flap",
    opens: false,
    strike({ routes }) {
      for (const link of workloadLinks(routes)) {
        routes.write({ kind: "change-link", link, change: { up: false } });
        routes.write({ kind: "change-link", link, change: { up: true } });
      }
      return undefined;
    },
  },
  {
    name: "interfaces of workloads renamed, and named back",
    opens: false,
    strike({ routes }) {
      for (const name of workloadLinks(routes)) {
        const link = must(routes.link(name), name).index;
        const change = (what: LinkChange): void => routes.write({ kind: "change-link", link, change: what });
        change({ up: false });
        change({ name: `away${link}` });
        change({ up: true });
        change({ up: false });
        change({ name });
        change({ up: true });
      }
      return undefined;
    },
  },
];

/** More notices at once than an agent's buffers hold, of routes and of somebody else's table. */
export function makeNoise({ nft, routes }: HostHands): void {
  const device = must(routes.link("lo"), "lo").index;
  const operations = (kind: "add-route" | "delete-route"): RouteOperation[] =>
    Array.from({ length: NOISE_ROUTES }, (_, i) => ({
      kind,
      route: { destination: `10.200.${i >> 8}.${i & 255}/32`, device, protocol: 99, scope: "link" },
    }));
  routes.apply(operations("add-route"));
  routes.apply(operations("delete-route"));
  const elements = Array.from({ length: NOISE_ELEMENTS }, (_, i) => `11.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
  nft.run(new Transaction().addTable(NOISE).addSet(NOISE, NOISE_SET));
  for (let from = 0; from < elements.length; from += 20_000)
    nft.run(new Transaction().addElements(NOISE, NOISE_SET, elements.slice(from, from + 20_000)));
  nft.run(new Transaction().deleteTable(NOISE));
}

function workloadLinks(routes: RouteConnection): string[] {
  return routes
    .links()
    .map(({ name }) => name)
    .filter((name) => name.startsWith("cali"));
}

function workloadRoutes(routes: RouteConnection): ReturnType<RouteConnection["routes"]> {
  const devices = new Set(routes.links().flatMap(({ index, name }) => (name.startsWith("cali") ? [index] : [])));
  return routes.routes({ family: 4 }).filter(({ device }) => device !== undefined && devices.has(device));
}
