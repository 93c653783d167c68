import type { KubeObject } from "../kube/kube-admin.ts";

/** An entry of a container's `env`. */
export interface EnvEntry {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string };
    readonly secretKeyRef?: { readonly name: string; readonly key: string; readonly optional?: boolean };
  };
}

interface Probe {
  readonly httpGet: { readonly host: string; readonly path: string; readonly port: number };
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly env?: readonly EnvEntry[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly securityContext?: {
    readonly privileged?: boolean;
    readonly allowPrivilegeEscalation?: boolean;
    readonly readOnlyRootFilesystem?: boolean;
    readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
  };
}

/** A source of a projected volume: which key becomes which file. */
export interface ProjectedSource {
  readonly secret?: {
    readonly name: string;
    readonly items: readonly { readonly key: string; readonly path: string }[];
  };
  readonly configMap?: {
    readonly name: string;
    readonly items: readonly { readonly key: string; readonly path: string }[];
  };
}

export interface Volume {
  readonly name: string;
  readonly hostPath?: { readonly path: string; readonly type?: string };
  readonly emptyDir?: object;
  readonly projected?: { readonly sources: readonly ProjectedSource[] };
}

/** What a Deployment or DaemonSet runs. */
export interface PodTemplate {
  readonly metadata: {
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly serviceAccountName: string;
    readonly hostNetwork?: boolean;
    readonly priorityClassName?: string;
    readonly terminationGracePeriodSeconds?: number;
    readonly securityContext?: Readonly<Record<string, unknown>>;
    readonly containers: readonly Container[];
    readonly volumes?: readonly Volume[];
    readonly [field: string]: unknown;
  };
}

export function templateOf(object: KubeObject): PodTemplate {
  return (object["spec"] as { readonly template: PodTemplate }).template;
}

/** @throws Error when there is none, or several. */
export function onlyContainer(template: PodTemplate): Container {
  const [container, ...others] = template.spec.containers;
  if (container === undefined || others.length > 0) throw new Error("Expected one container");
  return container;
}

/** @throws Error when there is none. */
export function find(objects: readonly KubeObject[], kind: string, name: string): KubeObject {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  if (found === undefined) throw new Error(`There is no ${kind} ${name}`);
  return found;
}

/** A variable's literal value. */
export function envValue(container: Container, name: string): string | undefined {
  return container.env?.find((entry) => entry.name === name)?.value;
}
