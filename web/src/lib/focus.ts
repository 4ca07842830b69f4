// SPDX-License-Identifier: MIT
// Focus never falls to the body. Where a button that has it goes away or is switched off, it moves to the nearest thing around it
// that can take it: the figure, if arrow keys work there, else the first control left, else the chapter's title.

const controls = 'button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea, a[href], summary, [tabindex]'

const isGone = (one: Element) => !one.isConnected || one.matches(':disabled') || one.closest('[hidden], [inert]') !== null

function focus(one: Element): boolean {
  ;(one as HTMLElement).focus({ preventScroll: true })
  return document.activeElement === one
}

/** Watches the page from now on; gives what stops it. */
export function keepFocus(page: HTMLElement): () => void {
  /** The element that had the focus last, and all elements around it: once it is removed, it no longer says where it was. */
  let path: Element[] = []
  const remember = (event: FocusEvent) => {
    path = []
    for (let one = event.target as Element | null; one && one !== document.body; one = one.parentElement) path.push(one)
  }
  // A click beside everything is meant to take the focus away.
  const forget = (event: PointerEvent) => {
    if (!(event.target as Element).closest(controls)) path = []
  }
  const look = () => {
    const [last, ...around] = path
    const now = document.activeElement
    if (!last || !isGone(last) || (now !== last && now !== document.body && now !== null)) return
    const left = around.filter((one) => !isGone(one))
    for (const one of left) if (one.matches('[tabindex]') && focus(one)) return
    for (const one of left) {
      if (one.querySelector('#chapter-title')) break // the rest is the page, and its first control has nothing to do with this
      for (const control of one.querySelectorAll(controls)) if (!isGone(control) && control.getClientRects().length && focus(control)) return
    }
    document.getElementById('chapter-title')?.focus({ preventScroll: true })
  }
  const changes = new MutationObserver(look)
  changes.observe(page, { subtree: true, childList: true, attributes: true, attributeFilter: ['disabled', 'hidden', 'inert'] })
  document.addEventListener('focusin', remember)
  document.addEventListener('pointerdown', forget)
  return () => {
    changes.disconnect()
    document.removeEventListener('focusin', remember)
    document.removeEventListener('pointerdown', forget)
  }
}
