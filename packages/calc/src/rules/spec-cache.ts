import { parseSelector, type Selector } from "@bulrush/selector";
import {
  type IpSetSpec,
  type NamedPortProtocol,
  namedPortSet,
  selectorSet,
  type SelectorSetSpec,
  serviceSet,
} from "../sets/ip-set-spec.ts";

/** Entries kept before the cache starts again: it only saves work, so it may forget. */
const MAX_ENTRIES = 1 << 15;

/** Remembers parsed selectors and hashed ids: policies repeat a few selectors in thousands of rules. */
export class SpecCache {
  #selectors = new Map<string, SelectorSetSpec>();
  #others = new Map<string, IpSetSpec>();

  /** Throws a SelectorError for text that is no selector: validation keeps such text out of the graph. */
  selector(text: string): Selector {
    return this.selectorSet(text).selector;
  }

  selectorSet(text: string): SelectorSetSpec {
    let spec = this.#selectors.get(text);
    if (spec === undefined) {
      spec = selectorSet(parseSelector(text));
      if (this.#selectors.size >= MAX_ENTRIES) this.#selectors = new Map();
      this.#selectors.set(text, spec);
    }
    return spec;
  }

  namedPortSet(selector: Selector, protocol: NamedPortProtocol, port: string): IpSetSpec {
    return this.#other(`${selector.text} ${protocol} ${port}`, () => namedPortSet(selector, protocol, port));
  }

  serviceSet(service: string, withPorts: boolean): IpSetSpec {
    return this.#other(`${withPorts ? "ports" : "addresses"} ${service}`, () => serviceSet(service, withPorts));
  }

  #other(key: string, make: () => IpSetSpec): IpSetSpec {
    let spec = this.#others.get(key);
    if (spec === undefined) {
      spec = make();
      if (this.#others.size >= MAX_ENTRIES) this.#others = new Map();
      this.#others.set(key, spec);
    }
    return spec;
  }
}
