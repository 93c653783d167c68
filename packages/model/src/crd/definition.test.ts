import assert from "node:assert/strict";
import { test } from "node:test";
import { boolean, integer, integerOrText, listOf, mapOf, object, oneOf, setOf, text } from "../schema/shape.ts";
import { customResourceDefinition } from "./definition.ts";
import { openApiOf } from "./open-api.ts";

test("openApiOf() keeps what is not known, with every form of field in its place", () => {
  const shape = object(
    {
      text: text({ about: "Words.", formats: ["cidr", "ipv4"], maxLength: 43 }),
      word: oneOf(["a", "b"], { default: "a" }),
      whole: integer(1, 9, { nullable: true }),
      flag: boolean(),
      port: integerOrText({ min: 1, pattern: "^x$" }),
      list: listOf(object({}), { maxItems: 3 }),
      set: setOf(oneOf(["a"])),
      map: mapOf(integer()),
    },
    { required: ["text"], rules: [{ cel: "self.whole > 1", message: "no" }], anyOf: [{ required: ["word"] }] },
  );
  assert.deepEqual(openApiOf(shape), {
    type: "object",
    required: ["text"],
    properties: {
      text: { description: "Words.", type: "string", maxLength: 43, anyOf: [{ format: "cidr" }, { format: "ipv4" }] },
      word: { type: "string", enum: ["a", "b"], default: "a" },
      whole: { type: "integer", format: "int64", minimum: 1, maximum: 9, nullable: true },
      flag: { type: "boolean" },
      port: { "x-kubernetes-int-or-string": true, minimum: 1, pattern: "^x$" },
      list: { type: "array", maxItems: 3, items: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      set: { type: "array", items: { type: "string", enum: ["a"] }, "x-kubernetes-list-type": "set" },
      map: { type: "object", additionalProperties: { type: "integer", format: "int64" } },
    },
    "x-kubernetes-preserve-unknown-fields": true,
    anyOf: [{ required: ["word"] }],
    "x-kubernetes-validations": [{ rule: "self.whole > 1", message: "no" }],
  });
});

test("customResourceDefinition() names the kind, its scope, its columns and its subresource", () => {
  const definition = customResourceDefinition({
    apiVersion: "lab.k8s.io/v1",
    kind: "Reed",
    plural: "reeds",
    namespaced: true,
    shortNames: ["rd"],
    about: "A reed.",
    spec: object({ tall: boolean() }, { required: ["tall"] }),
    isSpecRequired: true,
    status: object({}),
    name: { pattern: "^r", maxLength: 9 },
    rules: [{ cel: "true", message: "never" }],
    columns: [{ name: "Tall", type: "boolean", path: ".spec.tall" }],
  });
  assert.deepEqual(definition, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: "reeds.lab.k8s.io",
      annotations: { "api-approved.kubernetes.io": "unapproved, for clusters without the definition of its authors" },
    },
    spec: {
      group: "lab.k8s.io",
      names: {
        kind: "Reed",
        listKind: "ReedList",
        plural: "reeds",
        singular: "reed",
        shortNames: ["rd"],
        categories: ["bulrush"],
      },
      scope: "Namespaced",
      preserveUnknownFields: false,
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              description: "A reed.",
              type: "object",
              required: ["spec"],
              properties: {
                apiVersion: { type: "string" },
                kind: { type: "string" },
                metadata: { type: "object", properties: { name: { type: "string", pattern: "^r", maxLength: 9 } } },
                spec: {
                  type: "object",
                  required: ["tall"],
                  properties: { tall: { type: "boolean" } },
                  "x-kubernetes-preserve-unknown-fields": true,
                },
                status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
              },
              "x-kubernetes-validations": [{ rule: "true", message: "never" }],
            },
          },
          subresources: { status: {} },
          additionalPrinterColumns: [
            { name: "Tall", type: "boolean", jsonPath: ".spec.tall" },
            { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
          ],
        },
      ],
    },
  });
});
