// SPDX-License-Identifier: MIT
// The package has no types of its own.
declare module '@micropython/micropython-webassembly-pyscript/micropython.mjs' {
  export const loadMicroPython: import('./python.ts').LoadMicroPython
}
