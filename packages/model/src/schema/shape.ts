/** A condition between fields: CEL, which an API server evaluates, and what it says to whoever breaks it. */
export interface Rule {
  readonly cel: string;
  readonly message: string;
}

/** A piece of an OpenAPI v3 schema. */
export type OpenApi = Readonly<Record<string, unknown>>;

interface Common {
  /** What a stored object has where its author says nothing. Only what holds whatever the other fields say. */
  readonly default?: unknown;
  /** One line for who asks what the field is. */
  readonly about?: string;
  /** `null` may stand here, and means something. */
  readonly nullable?: boolean;
  readonly rules?: readonly Rule[];
  /** OpenAPI conditions of which one must hold: for what CEL could only ask of every entry of a list without end. */
  readonly anyOf?: readonly OpenApi[];
}

export interface TextShape extends Common {
  readonly type: "text";
  /** Anchored regular expression, of the common part of RE2 and ECMAScript. */
  readonly pattern?: string;
  readonly words?: readonly string[];
  readonly maxLength?: number;
  readonly minLength?: number;
  /** Any one of these forms will do, as the API server knows them. */
  readonly formats?: readonly ("ipv4" | "ipv6" | "cidr" | "date-time")[];
}

export interface IntegerShape extends Common {
  readonly type: "integer";
  readonly min?: number;
  readonly max?: number;
}

export interface NumberShape extends Common {
  readonly type: "number";
}

export interface BooleanShape extends Common {
  readonly type: "boolean";
  /** The words "true" and "false" will do for a reader; an API server that is told of the shape refuses them. */
  readonly orText?: boolean;
}

/** A whole number, or text where that is not enough: a port, a protocol, an AS number. */
export interface IntegerOrTextShape extends Common {
  readonly type: "integer-or-text";
  /** Of what is a number. */
  readonly min?: number;
  readonly max?: number;
  /** Of what is text. */
  readonly pattern?: string;
}

export interface ListShape extends Common {
  readonly type: "list";
  readonly items: Shape;
  /** No entry may be there twice. */
  readonly isSet?: boolean;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** Keys of the author's own. */
export interface MapShape extends Common {
  readonly type: "map";
  readonly values: Shape;
}

/** Fields that we know. What else stands there is kept: it may be a condition that a newer version has. */
export interface ObjectShape extends Common {
  readonly type: "object";
  readonly fields: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
}

/**
 * What a JSON value looks like, as data: the resource definitions for an API server, the defaults and the names of the
 * known fields all come from it. It says no more than each value by itself, and the rules that CEL can express;
 * validation says the rest.
 */
export type Shape =
  | TextShape
  | IntegerShape
  | NumberShape
  | BooleanShape
  | IntegerOrTextShape
  | ListShape
  | MapShape
  | ObjectShape;

type Rest<T extends Shape> = Omit<T, "type">;

export function text(options: Rest<TextShape> = {}): TextShape {
  return { type: "text", ...options };
}

/** One of the words, letter by letter. */
export function oneOf(words: readonly string[], options: Rest<TextShape> = {}): TextShape {
  return { type: "text", words, ...options };
}

/** A whole number from `min` to `max`, both included. */
export function integer(min?: number, max?: number, options: Rest<IntegerShape> = {}): IntegerShape {
  return { type: "integer", ...(min !== undefined && { min }), ...(max !== undefined && { max }), ...options };
}

export function number(options: Rest<NumberShape> = {}): NumberShape {
  return { type: "number", ...options };
}

export function boolean(options: Rest<BooleanShape> = {}): BooleanShape {
  return { type: "boolean", ...options };
}

export function integerOrText(options: Rest<IntegerOrTextShape> = {}): IntegerOrTextShape {
  return { type: "integer-or-text", ...options };
}

export function listOf(items: Shape, options: Omit<Rest<ListShape>, "items"> = {}): ListShape {
  return { type: "list", items, ...options };
}

/** A list in which nothing stands twice. */
export function setOf(items: Shape, options: Omit<Rest<ListShape>, "items" | "isSet"> = {}): ListShape {
  return { type: "list", items, isSet: true, ...options };
}

export function mapOf(values: Shape, options: Omit<Rest<MapShape>, "values"> = {}): MapShape {
  return { type: "map", values, ...options };
}

export function object(
  fields: Readonly<Record<string, Shape>>,
  options: Omit<Rest<ObjectShape>, "fields"> = {},
): ObjectShape {
  return { type: "object", fields, ...options };
}

/** The names of the fields of an object. */
export function fieldNames(shape: ObjectShape): ReadonlySet<string> {
  return new Set(Object.keys(shape.fields));
}

/** The defaults of an object's own fields. */
export function defaultsOf(shape: ObjectShape): Readonly<Record<string, unknown>> {
  const entries = Object.entries(shape.fields).filter(([, field]) => field.default !== undefined);
  return Object.fromEntries(entries.map(([name, field]) => [name, field.default]));
}
