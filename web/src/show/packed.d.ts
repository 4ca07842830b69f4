// SPDX-License-Identifier: MIT
// A file as it stands in a page that has nothing beside it: gzip, in base64 (vite.show.config.ts).
declare module '*?packed' {
  const packed: string
  export default packed
}
