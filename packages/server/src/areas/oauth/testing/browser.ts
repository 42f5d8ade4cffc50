/** A browser without JavaScript: follows redirects by hand, keeps a session's cookie and fills in the forms of pages. */
import assert from "node:assert/strict"
import type { TestPlatform } from "../../../testing/platform.ts"
import { watchedFetch } from "../../../testing/watch.ts"

export type Cookies = Readonly<Record<string, string>>

/** Where the authorization request leads. */
export const openRequest = async (url: string | URL): Promise<string> => {
  const response = await watchedFetch(String(url), { redirect: "manual" })
  assert.equal(response.status, 302, await response.text())
  return response.headers.get("location") ?? ""
}

export const readPage = async (url: string, headers: Cookies = {}) => {
  const response = await watchedFetch(url, {
    headers: { ...headers, accept: "text/html" },
    redirect: "manual",
  })
  const html = await response.text()
  const values = (name: string) =>
    [...html.matchAll(new RegExp(`name="${name}" value="([^"]*)"`, "g"))].map(([, value = ""]) => value)
  return {
    ...{ status: response.status, headers: response.headers, html },
    csrf: values("csrf")[0] ?? "",
    project: values("project")[0],
    projects: [...html.matchAll(/<option value="([0-9a-f-]{36})"/g)].map(([, id = ""]) => id),
    scopes: values("scope"),
  }
}

export const submit = (
  p: TestPlatform,
  path: string,
  fields: Readonly<Record<string, string | readonly string[]>>,
  headers: Cookies = {},
) => {
  const body = new URLSearchParams()
  for (const [name, value] of Object.entries(fields))
    for (const item of [value].flat()) body.append(name, item)
  return p.request(path, { method: "POST", redirect: "manual", headers: { origin: p.url, ...headers }, body })
}

export interface Choice {
  readonly scopes?: readonly string[]
  readonly action?: "approve" | "deny"
  readonly project?: string
}

/** Decides on the page; gives the address of the answer. */
export const decide = async (p: TestPlatform, consentUrl: string, session: Cookies, choice: Choice = {}) => {
  const page = await readPage(consentUrl, session)
  assert.equal(page.status, 200, page.html)
  const project = choice.project ?? page.project
  const response = await submit(
    p,
    new URL(consentUrl).pathname,
    {
      csrf: page.csrf,
      action: choice.action ?? "approve",
      scope: choice.scopes ?? page.scopes,
      ...(project !== undefined && { project }),
    },
    session,
  )
  return {
    status: response.status,
    location: response.headers.get("location") ?? "",
    html: await response.text(),
  }
}

/** The whole way of a person from the authorization request to the answer. */
export const approve = async (
  p: TestPlatform,
  url: string | URL,
  session: Cookies,
  choice?: Choice,
): Promise<URL> => {
  const { status, location, html } = await decide(p, await openRequest(url), session, choice)
  assert.equal(status, 303, html)
  return new URL(location)
}
