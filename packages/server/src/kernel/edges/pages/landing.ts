import { API_VERSION, allAreas } from "@svc/contract"
import { escapeHtml, renderPage } from "./layout.ts"

/** What programs find at the root. */
export const describeInstallation = (baseUrl: string) => ({
  name: "svc",
  version: API_VERSION,
  console_url: `${baseUrl}/console`,
  docs_url: `${baseUrl}/docs`,
  openapi_url: `${baseUrl}/openapi.json`,
  errors_url: `${baseUrl}/docs/errors`,
  health_url: `${baseUrl}/health/ready`,
})

const row = (href: string, name: string, text: string): string =>
  `<li><a href="${href}"><b>${escapeHtml(name)}</b><span>${escapeHtml(text)}</span></a></li>`

export const renderLanding = (baseUrl: string, root: string): string => {
  const areas = allAreas.map(({ title, summary }) =>
    row(`${root}/docs#/${encodeURIComponent(title)}`, title, summary.replaceAll("`", "")),
  )
  return renderPage({
    title: "Svc",
    root,
    section: "home",
    main: `<h1>One API for a whole cloud</h1>
<p class="soft">This is an installation of Svc. Everything in it is reached over HTTP with one bearer key.</p>
<pre><code>curl ${escapeHtml(baseUrl)}/v1/me -H "Authorization: Bearer $SVC_TOKEN"</code></pre>
<h2>Start here</h2><ul class="rows">
${row(`${root}/console`, "Console", "Everything in it by hand: sign in with your account")}
${row(`${root}/docs`, "API reference", "Every operation, to read and to try")}
${row(`${root}/openapi.json`, "OpenAPI", `Version ${API_VERSION} of the interface, for generators and agents`)}
${row(`${root}/docs/errors`, "Errors", "What each code means and what to do")}
${row(`${root}/health/ready`, "Health", "Whether this installation is ready to serve")}
</ul><h2>Areas</h2><ul class="rows">${areas.join("")}</ul>`,
  })
}
