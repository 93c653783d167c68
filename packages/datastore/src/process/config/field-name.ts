import { FELIX_FIELDS } from "@bulrush/model";

/** The field with a capital at its beginning: how a parameter is named of whose field nothing more is known. */
export function capitalise(field: string): string {
  return field.slice(0, 1).toUpperCase() + field.slice(1);
}

/** The name of the parameter that a field of FelixConfiguration sets. */
export function parameterName(field: string): string {
  return FELIX_FIELDS.get(field)?.parameter ?? capitalise(field);
}
