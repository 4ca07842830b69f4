// SPDX-License-Identifier: MIT
// Starts the page: fetches the engine, and mounts the lesson around it or says why it cannot.
import { mount } from 'svelte'
import App from './App.svelte'
import './page.css'

mount(App, { target: document.getElementById('page')! })
