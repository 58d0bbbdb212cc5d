// Scripts that pages load before the modules (uPlot declares itself), and what the modules use of an API that is not in
// TypeScript's list of DOM types.
import * as hierarchy from "d3-hierarchy";
import "uplot";

interface NavigateEvent extends Event {
  readonly destination: { readonly url: string };
}

declare global {
  export import d3 = hierarchy;
  /** Undefined on pages that load no htmx, such as a report. */
  var htmx:
    | { ajax(verb: string, path: string, context: Record<string, string>): Promise<void>; process(element: Element): void }
    | undefined;
  /** Undefined in browsers without the Navigation API. */
  var navigation: { addEventListener(type: "navigate", listener: (event: NavigateEvent) => void): void } | undefined;
}
