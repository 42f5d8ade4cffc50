/** The link that the first start prints: choose a password, and be signed in. */
import { type FormEvent, useState } from "react"
import { problemOf, send } from "../calls.ts"
import { go, href } from "../router.ts"
import { loadSession, signIn } from "../session.ts"
import { Mark } from "./mark.tsx"

interface Link {
  readonly email: string
  readonly token: string
}

/** What follows the `#`, taken out of the address before anybody copies it. */
const takeLink = (): Link => {
  const given = new URLSearchParams(location.hash.slice(1))
  history.replaceState(history.state, "", location.pathname)
  return { email: given.get("email") ?? "", token: given.get("token") ?? "" }
}
const link = takeLink()

const LENGTH_MIN = 8

const choosePassword = async (password: string): Promise<string | undefined> => {
  const body = JSON.stringify({ token: link.token, password })
  const headers = { "content-type": "application/json" }
  const confirmed = problemOf(
    await send(
      { method: "POST", path: "/v1/account/password/reset/confirm", headers, body },
      { quiet: true },
    ),
  )
  if (confirmed?.code === "token_invalid_or_expired")
    return "This link was used, or its 15 minutes are over. Sign in with the password in first-run.json, or with the one that was chosen."
  if (confirmed) return confirmed.errors?.[0]?.message ?? confirmed.error
  return problemOf(await signIn(link.email, password))?.error
}

export const FirstPage = () => {
  const [password, setPassword] = useState("")
  const [refused, setRefused] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const onSubmit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    try {
      const problem = await choosePassword(password)
      setRefused(problem)
      if (problem !== undefined) return
      await loadSession()
      go(href(""), { replace: true })
    } catch (error) {
      setRefused(`The platform did not answer: ${String(error)}`)
    } finally {
      setBusy(false)
    }
  }
  return (
    <main className="sign-in">
      <p className="brand">
        <Mark /> Svc
      </p>
      <h1>Choose your password</h1>
      <p className="soft">This is the first sign-in of this installation. The link works once.</p>
      <form onSubmit={onSubmit} aria-label="Choose your password">
        <div className="field">
          <label htmlFor="first-email">E-mail</label>
          <input id="first-email" type="email" autoComplete="username" readOnly value={link.email} />
        </div>
        <div className="field">
          <label htmlFor="first-password">New password</label>
          <input
            id="first-password"
            type="password"
            autoComplete="new-password"
            required
            minLength={LENGTH_MIN}
            value={password}
            aria-describedby="first-about"
            onChange={event => setPassword(event.target.value)}
          />
          <p className="about" id="first-about">
            At least {LENGTH_MIN} characters.
          </p>
        </div>
        <p role="alert" className={refused ? "notice bad" : undefined}>
          {refused}
        </p>
        <p className="buttons">
          <button type="submit" disabled={isBusy}>
            {isBusy ? "Signing in …" : "Set password and sign in"}
          </button>
        </p>
      </form>
      <p>
        <a href={href("")}>Sign in with a password instead</a>
      </p>
    </main>
  )
}
