// SPDX-License-Identifier: MIT
// `npm run e2e`: the built lesson in a real browser. Two files at a time; speed is measured last, with nothing
// beside it. A test that fails is tried again, since the machine may be busy with other programs.
import { defineConfig } from 'vitest/config'

// A poll may wait long on a busy machine. A limit that the lesson promises is checked in the test itself.
const common = { testTimeout: 180_000, hookTimeout: 60_000, expect: { poll: { timeout: 30_000 } } }

export default defineConfig({
  test: {
    projects: [
      { test: { ...common, name: 'lesson', include: ['tests/e2e/*.test.ts'], exclude: ['tests/e2e/speed.test.ts'], maxWorkers: 2, retry: 1, sequence: { groupOrder: 0 } } },
      { test: { ...common, name: 'speed', include: ['tests/e2e/speed.test.ts'], maxWorkers: 1, retry: 2, sequence: { groupOrder: 1 } } },
    ],
  },
})
