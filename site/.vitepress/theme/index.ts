// SPDX-License-Identifier: MIT
// VitePress's own theme in the lesson's colours and type; no font is fetched.
import Theme from 'vitepress/theme-without-fonts'
import '../../../build/docs/colours.css'
import './style.css'

export default Theme
