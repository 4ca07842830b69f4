// SPDX-License-Identifier: MIT
/** The element `<grad-walk>`: a graph to walk. Importing the module defines it. */
export declare class GradWalk extends HTMLElement {
  /** As the command line reads it: `a=3; b=a*a`. */
  expression: string
  /** A graph that gradwalk has written (`to_json(snapshot(root))`), in place of an expression. */
  graph: { nodes: unknown[]; root: number } | null
}
declare global {
  interface HTMLElementTagNameMap {
    'grad-walk': GradWalk
  }
}
