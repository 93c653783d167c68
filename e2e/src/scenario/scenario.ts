/** What a scenario is told. */
export interface ScenarioOptions {
  /** Decides every random choice. */
  readonly seed: number;
  /** The short form, for the tests. */
  readonly quick: boolean;
  /** How long the random script of a scenario is, for the ones that have one. Default: its own length. */
  readonly steps?: number;
  /** How long it goes on, where that can be said; not in the short form. Default: the scenario's own. */
  readonly minutes?: number;
  /** Lines for people, on standard error. */
  readonly progress: (text: string) => void;
}

/** Figures of a run that passed; printed with the scenario's name as its last line. */
export type ScenarioFigures = Readonly<Record<string, number | string>>;

/** One story on real parts: processes, namespaces, packets. It throws when something is not as it should be. */
export interface Scenario {
  readonly name: string;
  readonly summary: string;
  /** It runs against a real kube-apiserver or etcd. */
  readonly needsKube?: boolean;
  run(options: ScenarioOptions): Promise<ScenarioFigures>;
}
