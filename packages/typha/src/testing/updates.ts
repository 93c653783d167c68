import type { Update, Value } from "@bulrush/model";

/**
 * An update of a made-up setting, `name=value@revision`, or its delete, `-name@revision`. Setting values are text, so
 * a transcript can say all of it in a word.
 */
export function settingUpdate(text: string): Update {
  const match = /^(-?)([\w/]+)(?:=(\w*))?@(\w+)$/.exec(text);
  if (match === null) throw new Error(`Expected name=value@revision or -name@revision, got "${text}"`);
  const [, minus, name = "", value = "", revision = ""] = match;
  const key = { type: "GlobalConfig", name } as const;
  const deleted = minus === "-";
  return {
    key,
    path: name,
    revision,
    value: deleted ? undefined : (value as Value),
    type: deleted ? "deleted" : "new",
  };
}
