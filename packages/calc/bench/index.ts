import type { Update } from "@bulrush/model";
import { CustomerCluster } from "./customer-cluster.ts";
import { customerOperations } from "./customer-operations.ts";
import type { CalcCase, Figure } from "./figure.ts";
import { isolatedCustomersUpdates } from "./isolated-customers.ts";
import { kubernetesUpdates } from "./kubernetes-cluster.ts";
import { countingGraph, type LoadResult, measureLoad, measureStream } from "./measure.ts";
import { checkOutputs, noOutputs, type Outputs } from "./outputs.ts";
import { type CalcReference, calcReference, type LoadFigures } from "./reference.ts";
import { measureEvaluate, measureParse } from "./selector.ts";
import { snapshotUpdates } from "./snapshot.ts";
import { type Loaded, measureOperation, type Operation } from "./steady-state.ts";
import { TagCluster } from "./tag-cluster.ts";
import { tagOperations } from "./tag-operations.ts";

export type { CalcCase, Figure } from "./figure.ts";
export { type CalcReference, calcReference } from "./reference.ts";

/** What 10,000 customers with 200 local pods give, however many pods they have. */
const CUSTOMER_OUTPUTS: Partial<Outputs> = {
  ipSets: 400,
  policies: 200,
  rules: 600,
  endpoints: 200,
  ingressEntries: 200,
  egressEntries: 200,
  profiles: 200,
  namespaces: 10_000,
};

/** Loads of one cluster whose median counts. */
const LOADS = 3;

/** All cases, smallest first in each family. */
export function calcCases(): CalcCase[] {
  const reference = calcReference();
  return [
    selectorCase(reference),
    ...isolatedCases(reference),
    ...snapshotCases(reference),
    kubernetesCase(reference),
    ...steadyStateCases(reference),
    residentCase(reference),
  ];
}

function loadFigures(name: string, result: LoadResult, reference: LoadFigures, expected: Partial<Outputs>): Figure[] {
  checkOutputs(name, result.outputs, expected);
  // The graph was alive when the heap was measured: it is used after that.
  if (result.graph.stats.policies < 0) throw new Error("A graph with fewer than no policies");
  return [
    { metric: "cpu", value: result.cpuMs, unit: "ms", ...reference.cpu },
    { metric: "live-heap", value: result.heapMB, unit: "MB", ...reference.heap },
  ];
}

function snapshotCases(reference: CalcReference): CalcCase[] {
  return reference.snapshots.map((figures) => ({
    name: figures.name,
    size: { ...figures.size },
    quick: false,
    runs: LOADS,
    run: () =>
      loadFigures(
        figures.name,
        measureLoad(() => snapshotUpdates(figures.size)),
        figures,
        figures.outputs,
      ),
  }));
}

function isolatedCases(reference: CalcReference): CalcCase[] {
  return reference.isolatedCustomers.map((figures) => {
    const { customers } = figures;
    const name = `isolated-customers-${customers / 1000}k`;
    const expected: Partial<Outputs> = {
      ipSets: 100,
      members: 100,
      policies: 100,
      rules: 300,
      endpoints: 100,
      ingressEntries: 100,
      egressEntries: 100,
      profiles: 100,
      namespaces: customers,
    };
    return {
      name,
      size: { customers },
      quick: customers <= 10_000,
      runs: LOADS,
      run: () =>
        loadFigures(
          name,
          measureLoad(() => isolatedCustomersUpdates(customers)),
          figures,
          expected,
        ),
    };
  });
}

/** Every pod is on this host, as it were: all policies are in use at once. */
function kubernetesCase({ kubernetes }: CalcReference): CalcCase {
  const namespaces = 25_000;
  const name = "kubernetes-25k-namespaces";
  return {
    name,
    size: { namespaces, policies: 3 * namespaces, pods: 4 * namespaces },
    quick: false,
    runs: LOADS,
    run() {
      const result = measureStream(kubernetesUpdates(namespaces), "*");
      checkOutputs(name, result.outputs, {
        ipSets: 2 * namespaces,
        members: 4 * namespaces,
        policies: 3 * namespaces,
        rules: 2 * namespaces,
        endpoints: 4 * namespaces,
        ingressEntries: 8 * namespaces,
        egressEntries: 8 * namespaces,
        profiles: namespaces,
        namespaces,
      });
      return [
        { metric: "cpu", value: result.cpuMs, unit: "ms", ...kubernetes.cpu },
        { metric: "resident-set", value: result.residentMB, unit: "MB", ...kubernetes.heap },
      ];
    },
  };
}

function residentCase({ resident }: CalcReference): CalcCase {
  const cluster = new CustomerCluster(10_000, 25);
  const name = "customers-250k";
  return {
    name,
    size: { customers: cluster.customers, pods: cluster.pods },
    quick: false,
    runs: LOADS,
    run() {
      const result = measureStream(cluster.updates());
      checkOutputs(name, result.outputs, { ...CUSTOMER_OUTPUTS, members: 7400 });
      return [{ metric: "resident-set", value: result.residentMB, unit: "MB", ...resident }];
    },
  };
}

function steadyStateCases(reference: CalcReference): CalcCase[] {
  const tag = new TagCluster(100_000, 10_000);
  const customers = new CustomerCluster(10_000, 10);
  return [
    {
      name: "steady-state-tag",
      size: { remoteEndpoints: tag.remote, policies: tag.policies },
      quick: false,
      runs: 1,
      run() {
        const loaded = loadInSync(tag.updates());
        checkOutputs("steady-state-tag", loaded.outputs, {
          ipSets: 29,
          members: 100_200,
          policies: 10_000,
          rules: 50_000,
          endpoints: 200,
          ingressEntries: 73_225,
          egressEntries: 73_225,
          profiles: 100,
          namespaces: 100,
        });
        return steadyStateFigures(loaded, tagOperations(tag), reference.tagSteadyState);
      },
    },
    {
      name: "steady-state-customers",
      size: { pods: customers.pods, policies: customers.customers },
      quick: false,
      runs: 1,
      run() {
        const loaded = loadInSync(customers.updates());
        checkOutputs("steady-state-customers", loaded.outputs, { ...CUSTOMER_OUTPUTS, members: 3000 });
        return steadyStateFigures(loaded, customerOperations(customers), reference.customerSteadyState);
      },
    },
  ];
}

function steadyStateFigures(
  loaded: Loaded,
  operations: readonly Operation[],
  figures: CalcReference["tagSteadyState"],
): Figure[] {
  return operations.map((operation) => ({
    metric: operation.name,
    value: measureOperation(loaded, operation),
    unit: "us",
    ...figures[operation.name],
  }));
}

function loadInSync(updates: Iterable<Update>): Loaded {
  const outputs = noOutputs();
  const graph = countingGraph(outputs);
  for (const update of updates) graph.onUpdates([update]);
  graph.onStatusUpdated("in-sync");
  graph.flush();
  return { graph, outputs };
}

function selectorCase({ selector }: CalcReference): CalcCase {
  return {
    name: "selector",
    size: { terms: 3, labels: 8 },
    quick: true,
    runs: 1,
    run: () => [
      { metric: "parse", value: measureParse(), unit: "us", ...selector.parse },
      { metric: "evaluate", value: measureEvaluate(), unit: "ns", ...selector.evaluate },
    ],
  };
}
