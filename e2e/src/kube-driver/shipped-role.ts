import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeAdmin, KubeObject } from "../kube/kube-admin.ts";
import { KubeRefusal } from "../kube/kube-admin.ts";

/** Typha's role as it is shipped. */
const TYPHA_ROLE_FILE: string = join(import.meta.dirname, "..", "..", "..", "deploy", "rbac", "typha-role.yaml");

const RBAC = "rbac.authorization.k8s.io";
const NAMESPACE = "default";
const ACCOUNT = "bulrush-typha";
const LIMIT_MS = 30_000;

/** A rule of a ClusterRole (rbac/v1 `PolicyRule`), as far as it is there. */
export interface RoleRule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

/** The shipped role on a server, and a service account that has it and nothing else. */
export class ShippedRole {
  /** Of the service account. */
  readonly token: string;
  readonly #admin: KubeAdmin;
  readonly #role: KubeObject;

  private constructor(admin: KubeAdmin, role: KubeObject, token: string) {
    this.#admin = admin;
    this.#role = role;
    this.token = token;
  }

  /** Installs the file as it is: the server reads it, as it would from a user. */
  static async install(admin: KubeAdmin): Promise<ShippedRole> {
    const path = `/apis/${RBAC}/v1/clusterroles`;
    const answer = await admin.request("POST", path, readFileSync(TYPHA_ROLE_FILE, "utf8"), "application/yaml");
    if (answer.status !== 201) throw new KubeRefusal(`POST ${path}`, answer);
    const role = answer.body as KubeObject;
    await admin.create({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: ACCOUNT, namespace: NAMESPACE } });
    await admin.create({
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: ACCOUNT },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: role.metadata.name },
      subjects: [{ kind: "ServiceAccount", name: ACCOUNT, namespace: NAMESPACE }],
    });
    const shipped = new ShippedRole(admin, role, await admin.tokenOf(NAMESPACE, ACCOUNT));
    await shipped.#untilInForce([]);
    return shipped;
  }

  /** As they were shipped. */
  get rules(): readonly RoleRule[] {
    return this.#role["rules"] as readonly RoleRule[];
  }

  /**
   * From now on these resources may not be read, whatever their group; with none, the role is as it was shipped. Resolves
   * when the server goes by it.
   */
  async without(...plurals: readonly string[]): Promise<void> {
    const rules = this.rules.map((rule) => ({
      ...rule,
      resources: (rule.resources ?? []).filter((plural) => !plurals.includes(plural)),
    }));
    const { name } = this.#role.metadata;
    await this.#admin.replace({ ...this.#role, metadata: { ...(name !== undefined && { name }) }, rules });
    await this.#untilInForce(plurals);
  }

  /** A server reads its own roles by a watch. */
  async #untilInForce(without: readonly string[]): Promise<void> {
    const startMs = performance.now();
    for (const { apiGroups = [], resources = [] } of this.rules) {
      const [group = ""] = apiGroups;
      for (const resource of resources) {
        const wanted = !without.includes(resource);
        while ((await this.#mayList(group, resource)) !== wanted) {
          if (performance.now() - startMs > LIMIT_MS) throw new Error(`The role is not in force for ${resource}`);
          await sleep(20);
        }
      }
    }
  }

  async #mayList(group: string, resource: string): Promise<boolean> {
    const user = `system:serviceaccount:${NAMESPACE}:${ACCOUNT}`;
    const review = await this.#admin.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { user, resourceAttributes: { group, resource, verb: "list" } },
    });
    return (review.body as { readonly status?: { readonly allowed?: boolean } }).status?.allowed === true;
  }
}
