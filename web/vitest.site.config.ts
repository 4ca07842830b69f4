// SPDX-License-Identifier: MIT
// The built documentation site in a real browser; tools/build-docs builds it.
import { defineConfig } from 'vitest/config'

export default defineConfig({ test: { include: ['tests/e2e/site/*.test.ts'], testTimeout: 180_000, hookTimeout: 60_000 } })
