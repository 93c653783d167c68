import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What one account has asked for, in one way, with one outcome (audit/v1 `Event`). */
export interface AuditedRequest {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  /** HTTP's. */
  readonly status: number;
}

interface AuditEvent {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly requestURI: string;
  readonly objectRef?: { readonly resource?: string; readonly apiGroup?: string };
  readonly responseStatus?: { readonly code?: number };
}

/** A kube-apiserver's own account of who asked for what: give it `args`. */
export class AuditLog {
  readonly args: readonly string[];
  readonly #file: string;
  readonly #directory: string;

  constructor() {
    this.#directory = mkdtempSync(join(tmpdir(), "bulrush-audit-"));
    this.#file = join(this.#directory, "audit.log");
    const policy = join(this.#directory, "policy.json");
    // A watch is told when it begins, too: it may well not end.
    const rules = [{ level: "Metadata", omitStages: ["RequestReceived"] }];
    writeFileSync(policy, JSON.stringify({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules }));
    this.args = [`--audit-policy-file=${policy}`, `--audit-log-path=${this.#file}`, "--audit-log-mode=blocking"];
  }

  /** What an account has asked for so far, each kind of request once. Requests that are for no resource have none. */
  requestsOf(namespace: string, serviceAccount: string): readonly AuditedRequest[] {
    if (!existsSync(this.#file)) return [];
    const username = `system:serviceaccount:${namespace}:${serviceAccount}`;
    const found = new Map<string, AuditedRequest>();
    for (const line of readFileSync(this.#file, "utf8").split("\n")) {
      if (line === "") continue;
      const { verb, user, requestURI, objectRef, responseStatus } = JSON.parse(line) as AuditEvent;
      if (user.username !== username) continue;
      const { resource = requestURI.replace(/\?.*/, ""), apiGroup: group = "" } = objectRef ?? {};
      const request = { verb, group, resource, status: responseStatus?.code ?? 0 };
      found.set(JSON.stringify(request), request);
    }
    return [...found.values()];
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
