import type { ComponentChildren, JSX } from "preact";

export interface Figure {
  readonly name: string;
  readonly value: ComponentChildren;
  /** What the number means, in few words. */
  readonly note?: string;
  readonly tone?: "good" | "warn" | "bad";
}

/** A row of numbers with their names. */
export function Figures({ of }: { readonly of: readonly Figure[] }): JSX.Element {
  return (
    <dl class="figures">
      {of.map(({ name, value, note, tone }) => (
        <div key={name} class={tone}>
          <dt>{name}</dt>
          <dd>{value}</dd>
          {note !== undefined && <dd class="dim note">{note}</dd>}
        </div>
      ))}
    </dl>
  );
}
