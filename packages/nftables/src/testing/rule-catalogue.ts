import type { CatalogueEntry } from "./catalogue-entry.ts";
import { CATALOGUE_MATCHES } from "./catalogue-matches.ts";
import { CATALOGUE_STATEMENTS } from "./catalogue-statements.ts";

/** Every statement, operand and comparison at least once. The sets and maps that they name are in `catalogueTable`. */
export const RULE_CATALOGUE: readonly CatalogueEntry[] = [...CATALOGUE_MATCHES, ...CATALOGUE_STATEMENTS];
