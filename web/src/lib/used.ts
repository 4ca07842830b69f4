// SPDX-License-Identifier: MIT
// Which figure the learner used last: pressed, typed in or focused. Focus alone does not say it, because Safari does not focus a
// button that is clicked, and a figure that is focused itself is stepped with the arrow keys.

let last: EventTarget | null = null
if (typeof document !== 'undefined')
  for (const kind of ['pointerdown', 'click', 'keydown', 'focusin', 'input']) document.addEventListener(kind, (event) => (last = event.target), { capture: true, passive: true })

/** Whether the element stands in the figure that was used last. */
export function isUsed(element: Element | undefined): boolean {
  const figure = element?.closest('[tabindex], figure')
  return figure !== null && figure !== undefined && last instanceof Node && figure.contains(last)
}
