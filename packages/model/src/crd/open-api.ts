import { unreachable } from "@bulrush/base";
import type { OpenApi, Shape } from "../schema/shape.ts";

/** The structural schema of a shape: OpenAPI v3 with the extensions of Kubernetes, in a fixed order of fields. */
export function openApiOf(shape: Shape): OpenApi {
  return { ...headOf(shape), ...bodyOf(shape), ...tailOf(shape) };
}

function headOf({ about }: Shape): OpenApi {
  return about === undefined ? {} : { description: about };
}

function tailOf(shape: Shape): OpenApi {
  const rules = shape.rules?.map(({ cel, message }) => ({ rule: cel, message }));
  return {
    ...(shape.nullable === true && { nullable: true }),
    ...(shape.default !== undefined && { default: shape.default }),
    ...(shape.anyOf !== undefined && { anyOf: shape.anyOf }),
    ...(rules !== undefined && { "x-kubernetes-validations": rules }),
  };
}

function defined(fields: Readonly<Record<string, unknown>>): OpenApi {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function bodyOf(shape: Shape): OpenApi {
  switch (shape.type) {
    case "text": {
      const { words, pattern, minLength, maxLength, formats } = shape;
      return defined({
        type: "string",
        enum: words,
        pattern,
        minLength,
        maxLength,
        anyOf: formats?.map((format) => ({ format })),
      });
    }
    case "integer":
      return defined({ type: "integer", format: "int64", minimum: shape.min, maximum: shape.max });
    case "number":
      return { type: "number" };
    case "boolean":
      return { type: "boolean" };
    case "integer-or-text":
      return defined({
        "x-kubernetes-int-or-string": true,
        minimum: shape.min,
        maximum: shape.max,
        pattern: shape.pattern,
      });
    case "list":
      return defined({
        type: "array",
        minItems: shape.minItems,
        maxItems: shape.maxItems,
        items: openApiOf(shape.items),
        "x-kubernetes-list-type": shape.isSet === true ? "set" : undefined,
      });
    case "map":
      return { type: "object", additionalProperties: openApiOf(shape.values) };
    case "object": {
      const fields = Object.entries(shape.fields);
      return defined({
        type: "object",
        required: shape.required?.length ? shape.required : undefined,
        properties:
          fields.length > 0 ? Object.fromEntries(fields.map(([name, field]) => [name, openApiOf(field)])) : undefined,
        // Cutting off a condition that a newer version knows would let more through.
        "x-kubernetes-preserve-unknown-fields": true,
      });
    }
    default:
      return unreachable(shape);
  }
}
