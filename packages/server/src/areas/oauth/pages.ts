/** The pages as HTML. They run no script, and what clients say of themselves is text. */
import { type areas, isScope, OAUTH_OFFLINE_SCOPE, type Output, scopes } from "@svc/contract"
import { escapeHtml, pagePolicy, renderPage } from "../../kernel/edges/pages/layout.ts"
import type { RenderError } from "../../kernel/edges/reply.ts"
import { shownPlace } from "./redirects.ts"

type Asked = Output<(typeof areas.oauth.specs)["getAuthorization"]>

/** `answersAt`: the origin that the answer to a form may lead to, beside our own. */
export const pageHeaders = (answersAt = "") => ({
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": pagePolicy(`'self' ${answersAt}`.trim()),
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  // Without its origin a form could not be told from that of a foreign page.
  "referrer-policy": "same-origin",
})

const page = (root: string, title: string, main: string): string =>
  renderPage({ title, root, section: "none", main })

export const renderSignIn = ({
  root,
  id,
  email = "",
  refusal,
}: {
  readonly root: string
  readonly id: string
  readonly email?: string
  readonly refusal?: string
}): string =>
  page(
    root,
    "Sign in",
    `<h1>Sign in</h1><p class="soft">An app asks to be connected to your account. Sign in to see what it asks for.</p>
${refusal === undefined ? "" : `<p role="alert" class="bad">${escapeHtml(refusal)}</p>`}
<form method="post" action="${root}/oauth/consent/${id}/sign-in">
<label>E-mail <input name="email" type="email" autocomplete="username" required value="${escapeHtml(email)}"></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<button>Sign in</button></form>`,
  )

export const renderCode = ({
  root,
  id,
  token,
  refusal,
}: {
  readonly root: string
  readonly id: string
  readonly token: string
  readonly refusal?: string
}): string =>
  page(
    root,
    "Enter your code",
    `<h1>Enter your code</h1><p class="soft">Six digits from your authenticator, or one of your recovery codes.</p>
${refusal === undefined ? "" : `<p role="alert" class="bad">${escapeHtml(refusal)}</p>`}
<form method="post" action="${root}/oauth/consent/${id}/code">
<input type="hidden" name="mfa_token" value="${escapeHtml(token)}">
<label>Code <input name="code" autocomplete="one-time-code" required maxlength="32" autofocus></label>
<button>Continue</button></form>`,
  )

export const renderDevice = ({
  root,
  code,
  refusal,
}: {
  readonly root: string
  readonly code: string
  readonly refusal?: string
}): string =>
  page(
    root,
    "Connect a device",
    `<h1>Connect a device</h1><p class="soft">Enter the code that your device shows. Nobody else will ever ask you for one.</p>
${refusal === undefined ? "" : `<p role="alert" class="bad">${escapeHtml(refusal)}</p>`}
<form method="post" action="${root}/oauth/device">
<label>Code <input name="user_code" autocomplete="off" required maxlength="32" value="${escapeHtml(code)}"></label>
<button>Continue</button></form>`,
  )

const describe = (scope: string): string => {
  if (scope === OAUTH_OFFLINE_SCOPE) return "Stay connected for 90 days without asking again"
  return isScope(scope) ? scopes[scope].description : scope
}

const scopeBox = (scope: string): string =>
  `<label class="tick"><input type="checkbox" name="scope" value="${escapeHtml(scope)}" checked> <span><code>${escapeHtml(scope)}</code> ${escapeHtml(describe(scope))}</span></label>`

const projectField = ({ projects }: Asked): string => {
  const [only, ...others] = projects
  if (!only) return '<p role="alert" class="bad">You have no project that an app could be connected to.</p>'
  const name = ({ organization, project }: Asked["projects"][number]) =>
    escapeHtml(`${organization.name} / ${project.name}`)
  if (others.length === 0)
    return `<p>Project: <b>${name(only)}</b></p><input type="hidden" name="project" value="${only.project.id}">`
  const options = projects.map(choice => `<option value="${choice.project.id}">${name(choice)}</option>`)
  return `<label>Project <select name="project" required><option value="">Choose one</option>${options.join("")}</select></label>`
}

/** Who asks cannot be verified, so the place that the answer goes to is shown beside the name. */
const originOf = ({ flow, redirect_uri, client }: Asked): string => {
  const place = redirect_uri === null ? "" : shownPlace(redirect_uri)
  const answer =
    flow === "device"
      ? "It runs on a device that showed you a code. Go on only if you started this yourself, a moment ago."
      : `The answer goes to <b>${escapeHtml(place)}</b>.`
  return `<p>${answer}</p><p class="soft">The name is what the app calls itself; nobody has verified it. Its id is <code>${escapeHtml(client.id)}</code>.</p>`
}

export const renderConsent = (
  asked: Asked,
  { root, csrf }: { readonly root: string; readonly csrf: string },
): string => {
  const grantable = asked.scope
    .split(" ")
    .filter(scope => asked.projects.some(choice => choice.scopes.includes(scope)))
  return page(
    root,
    `Connect ${asked.client.name}`,
    `<h1>Connect ${escapeHtml(asked.client.name)}?</h1>
${originOf(asked)}<p>You are signed in as <b>${escapeHtml(asked.user.email)}</b>.</p>
<form method="post" action="${root}/oauth/consent/${asked.authorization_id}">
<input type="hidden" name="csrf" value="${csrf}">
${projectField(asked)}
<fieldset><legend>It may, until you disconnect it</legend>${grantable.map(scopeBox).join("")}</fieldset>
<p class="soft">High-risk operations wait for a person's approval.</p>
<button name="action" value="approve">Connect</button>
<button name="action" value="deny" class="plain" formnovalidate>Refuse</button></form>`,
  )
}

export const renderDone = (root: string, isConnected: boolean): string =>
  page(
    root,
    isConnected ? "Connected" : "Refused",
    isConnected
      ? "<h1>Connected</h1><p>Return to your device; it goes on by itself. You can close this page.</p>"
      : "<h1>Refused</h1><p>Nothing was connected. You can close this page.</p>",
  )

/** A refusal that a person reads. */
export const createPageErrors = (baseUrl: string): RenderError => {
  const root = new URL(baseUrl).pathname.replace(/\/+$/, "")
  return ({ code, error, request_id }) => ({
    type: "text/html; charset=utf-8",
    headers: { ...pageHeaders(), vary: "accept" },
    text: page(
      root,
      "It did not work",
      `<h1>It did not work</h1><p>${escapeHtml(error)}</p><p class="soft">Go back and try again, or start anew in the app. <code>${escapeHtml(code)}</code>, request <code>${escapeHtml(request_id)}</code></p>`,
    ),
  })
}
