import { messageOf } from "@bulrush/base";
import type { DriftItem } from "../drift/drift-report.ts";
import type { RouteAccess, Sysctls } from "../kernel/kernel.ts";
import { sysctlDrift, type SysctlsResult } from "./sysctl-drift.ts";

/** Settings of the whole host without which it forwards nothing, or counts nothing. */
const FORWARDING = { 4: "net/ipv4/ip_forward", 6: "net/ipv6/conf/all/forwarding" } as const;
const ACCOUNTING = "net/netfilter/nf_conntrack_acct";
/** RTPROT_RA: routes that a router has announced. */
const ANNOUNCED_PROTOCOL = 9;

/**
 * Settings by which parts of the kernel show that they are there. No program is started to load what is missing: the
 * rules ask the kernel to, and what it cannot have by then is named.
 */
const SIGNS: readonly (readonly [path: string, consequence: string])[] = [
  [ACCOUNTING, "no connection tracking (nf_conntrack): answers count as new packets"],
  [
    "net/netfilter/nf_conntrack_sctp_timeout_established",
    "no connection tracking of SCTP (CONFIG_NF_CT_PROTO_SCTP): its ports are not translated, and its ends not seen",
  ],
];

/** Makes a router of this host, and keeps it one. */
export class HostSysctls {
  readonly #settings: readonly { readonly path: string; readonly value: string }[];
  readonly #ipv6Support: boolean;
  readonly #told = new Set<string>();
  /** Why a setting could not be set, by path. */
  readonly #refused = new Map<string, string>();
  #isDue = true;
  #isFirst = true;

  constructor({ ipForwarding, ipv6Support }: { readonly ipForwarding: boolean; readonly ipv6Support: boolean }) {
    this.#ipv6Support = ipv6Support;
    const paths: string[] = [ACCOUNTING];
    if (ipForwarding) paths.push(FORWARDING[4]);
    if (ipForwarding && ipv6Support) paths.push(FORWARDING[6]);
    this.#settings = paths.map((path) => ({ path, value: "1" }));
  }

  /** Looks at everything again at the next call. */
  queueResync(): void {
    this.#isDue = true;
  }

  /**
   * To be called before {@link apply}. Where an interface is told to forward IPv6, the kernel takes the default routes
   * away that a router has announced to this host, and hears of no others: but on interfaces whose accept_ra is 2. Those
   * that have such a route get that.
   */
  keepAnnouncedRoutes(
    sysctls: Sysctls,
    routes: Pick<RouteAccess, "links" | "routes">,
    onWarning: (message: string) => void,
  ): void {
    if (!this.#isDue || !this.#ipv6Support) return;
    const tell = (problem: string): void => {
      if (!this.#told.has(problem)) onWarning(problem);
      this.#told.add(problem);
    };
    try {
      const announced = routes
        .routes({ family: 6, protocol: ANNOUNCED_PROTOCOL })
        .filter(({ destination }) => destination === "::/0");
      if (announced.length === 0) return;
      const devices = new Set(announced.flatMap(({ device, hops = [] }) => [device, ...hops.map((hop) => hop.device)]));
      for (const { index, name } of routes.links()) {
        const path = `net/ipv6/conf/${name}/accept_ra`;
        if (!devices.has(index) || sysctls.read(path) !== "1") continue;
        sysctls.write(path, "2");
        tell(`Set ${path} to 2: this host would lose its default route of IPv6 as it forwards packets`);
      }
    } catch (error) {
      tell(`Keep announced default routes of IPv6: ${messageOf(error)}`);
    }
  }

  /** What cannot be set is told once and is no failure: the host may be set up otherwise. */
  apply(sysctls: Sysctls, onWarning: (message: string) => void): SysctlsResult {
    if (!this.#isDue) return { failures: [], drift: [] };
    const drift: DriftItem[] = [];
    if (this.#isFirst) this.#nameMissing(sysctls, onWarning);
    for (const setting of this.#settings) {
      try {
        const items = sysctlDrift(sysctls, [setting]);
        this.#refused.delete(setting.path);
        if (items.length === 0) continue;
        sysctls.write(setting.path, setting.value);
        if (!this.#isFirst) drift.push(...items);
      } catch (error) {
        const why = messageOf(error);
        this.#refused.set(setting.path, why);
        const problem = `Set ${setting.path} to ${setting.value}: ${why}`;
        if (!this.#told.has(problem)) onWarning(problem);
        this.#told.add(problem);
      }
    }
    this.#isFirst = false;
    this.#isDue = false;
    return { failures: [], drift };
  }

  /** After the first rules, which ask for connection tracking. */
  #nameMissing(sysctls: Sysctls, onWarning: (message: string) => void): void {
    for (const [path, consequence] of SIGNS)
      try {
        if (sysctls.read(path) === undefined) onWarning(`This kernel has ${consequence}`);
      } catch (error) {
        onWarning(`Read ${path}: ${messageOf(error)}`);
      }
  }

  /** What is other than meant at the moment, with the reason where it stays so. Throws when it cannot be read. */
  inspect(sysctls: Sysctls): DriftItem[] {
    if (this.#isFirst) return [];
    return sysctlDrift(sysctls, this.#settings).map((item) => {
      const why = this.#refused.get(item.name);
      return why === undefined ? item : { ...item, detail: `${item.detail}, and cannot be set: ${why}` };
    });
  }
}
