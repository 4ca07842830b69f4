// SPDX-License-Identifier: MIT
// Says how to open the page where it was opened as a file. The page itself cannot: browsers load no module from a file. It is a file
// of its own because the server of the lesson allows no script inside the page.
if (location.protocol === 'file:')
  document.getElementById('page').innerHTML =
    '<div role="alert" style="max-width: 38em; margin: 3rem auto; padding: 0 1rem; font: 18px/1.6 serif">' +
    '<h1 style="font-size: 1.5em">This page needs a web server</h1>' +
    '<p>Browsers do not let a page that is opened as a file load its engine. Any web server will do. If you have gradwalk, run</p>' +
    '<pre>gradwalk lesson</pre><p>which opens the lesson in your browser. Or open a terminal in the folder of this file, run</p>' +
    '<pre>python3 -m http.server 8000</pre><p>and open <a href="http://localhost:8000/">http://localhost:8000/</a>.</p></div>'
