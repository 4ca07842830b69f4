// SPDX-License-Identifier: MIT
// Runes everywhere; TypeScript in components needs no preprocessor.
export default { compilerOptions: { runes: true } }
