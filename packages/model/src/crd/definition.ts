import type { ResourceDefinition } from "../schema/resources.ts";
import type { OpenApi } from "../schema/shape.ts";
import { openApiOf } from "./open-api.ts";

/** Groups of Kubernetes' own take definitions only with a word on who stands behind them. */
const PROTECTED_GROUP = /(?:^|\.)k8s\.io$/;

/** The CustomResourceDefinition (apiextensions.k8s.io/v1) of a kind. */
export function customResourceDefinition(definition: ResourceDefinition): OpenApi {
  const { apiVersion, kind, plural, namespaced, shortNames, columns, status } = definition;
  const [group = "", version = ""] = apiVersion.split("/");
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${plural}.${group}`,
      ...(PROTECTED_GROUP.test(group) && {
        annotations: { "api-approved.kubernetes.io": "unapproved, for clusters without the definition of its authors" },
      }),
    },
    spec: {
      group,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames,
        categories: ["bulrush"],
      },
      scope: namespaced ? "Namespaced" : "Cluster",
      preserveUnknownFields: false,
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: rootSchema(definition) },
          ...(status !== undefined && { subresources: { status: {} } }),
          additionalPrinterColumns: [
            ...columns.map(({ name, type, path }) => ({ name, type, jsonPath: path })),
            { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
          ],
        },
      ],
    },
  };
}

function rootSchema({ about, spec, status, name, rules, isSpecRequired }: ResourceDefinition): OpenApi {
  return {
    description: about,
    type: "object",
    ...(isSpecRequired && { required: ["spec"] }),
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: {
        type: "object",
        ...(name !== undefined && { properties: { name: { type: "string", ...name } } }),
      },
      spec: openApiOf(spec),
      ...(status !== undefined && { status: openApiOf(status) }),
    },
    ...(rules.length > 0 && { "x-kubernetes-validations": rules.map(({ cel, message }) => ({ rule: cel, message })) }),
  };
}
