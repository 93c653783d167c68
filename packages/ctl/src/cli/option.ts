/** An option of a command. Options with `value` take one; the others are switches. */
export interface OptionSpec {
  /** Long name without dashes. */
  readonly name: string;
  /** One letter. */
  readonly short?: string;
  /** How the value is called in the help: "PATH". */
  readonly value?: string;
  readonly doc: string;
  /** May be given several times. Default: once, the last one counts. */
  readonly multiple?: boolean;
}
