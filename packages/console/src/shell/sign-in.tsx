import { type FormEvent, useState } from "react"
import { problemOf, question, type Received } from "../calls.ts"
import { giveCode, loadSession, proveIdentity, session, signIn, waitingToken } from "../session.ts"
import { Modal } from "../ui/modal.tsx"
import { Mark } from "./mark.tsx"

/** `onRefusal` may take a refusal for itself, by its code. */
const useSubmit = (
  submit: () => Promise<Received>,
  done: (received: Received) => void,
  onRefusal: (code: string) => boolean = () => false,
) => {
  const [refused, setRefused] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const onSubmit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setRefused(undefined)
    try {
      const received = await submit()
      const problem = problemOf(received)
      if (!problem) done(received)
      else if (!onRefusal(problem.code)) setRefused(problem.error)
    } catch (error) {
      setRefused(`The platform did not answer: ${String(error)}`)
    } finally {
      setBusy(false)
    }
  }
  return { refused, isBusy, onSubmit }
}

const Refused = ({ text }: { readonly text: string | undefined }) => (
  <p role="alert" className={text ? "notice bad" : undefined}>
    {text}
  </p>
)

const CodeField = ({ code, onCode }: { readonly code: string; readonly onCode: (code: string) => void }) => (
  <div className="field">
    <label htmlFor="code">Code</label>
    <input
      id="code"
      autoComplete="one-time-code"
      maxLength={32}
      required
      value={code}
      onChange={event => onCode(event.target.value)}
    />
    <p className="soft small">Six digits from your authenticator, or a recovery code</p>
  </div>
)

const CodeForm = ({
  token,
  done,
  onExpired,
}: {
  readonly token: string
  readonly done: () => void
  readonly onExpired: () => void
}) => {
  const [code, setCode] = useState("")
  const expired = (refusal: string) => {
    if (refusal !== "mfa_challenge_expired") return false
    onExpired()
    return true
  }
  const { refused, isBusy, onSubmit } = useSubmit(() => giveCode(token, code), done, expired)
  return (
    <form onSubmit={onSubmit} aria-label="Enter your code">
      <CodeField code={code} onCode={setCode} />
      <Refused text={refused} />
      <p className="buttons">
        <button type="submit" disabled={isBusy}>
          Continue
        </button>
      </p>
    </form>
  )
}

const SignInForm = ({ done }: { readonly done: () => void }) => {
  const [token, setToken] = useState<string>()
  return token === undefined ? (
    <PasswordForm done={done} onWaiting={setToken} />
  ) : (
    <CodeForm token={token} done={done} onExpired={() => setToken(undefined)} />
  )
}

const PasswordForm = ({
  done,
  onWaiting,
}: {
  readonly done: () => void
  readonly onWaiting: (token: string) => void
}) => {
  const [email, setEmail] = useState(session.get()?.user.email ?? "")
  const [password, setPassword] = useState("")
  const goOn = (received: Received) => {
    const token = waitingToken(received)
    if (token === undefined) done()
    else onWaiting(token)
  }
  const { refused, isBusy, onSubmit } = useSubmit(() => signIn(email, password), goOn)
  return (
    <form onSubmit={onSubmit} aria-label="Sign in">
      <div className="field">
        <label htmlFor="email">E-mail</label>
        <input
          id="email"
          type="email"
          autoComplete="username"
          required
          value={email}
          onChange={event => setEmail(event.target.value)}
        />
      </div>
      <div className="field">
        <label htmlFor="password">Password</label>
        <input
          id="password"
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={event => setPassword(event.target.value)}
        />
      </div>
      <Refused text={refused} />
      <p className="buttons">
        <button type="submit" disabled={isBusy}>
          {isBusy ? "Signing in …" : "Sign in"}
        </button>
      </p>
    </form>
  )
}

export const SignInPage = () => (
  <main className="sign-in">
    <p className="brand">
      <Mark /> Svc
    </p>
    <h1>Sign in</h1>
    <SignInForm done={() => void loadSession()} />
    <p className="soft small">
      On a new installation the address and password are in <code>first-run.json</code> in its data folder.
    </p>
  </main>
)

const StepUpForm = ({ done }: { readonly done: () => void }) => {
  const [password, setPassword] = useState("")
  const [code, setCode] = useState<string>()
  const askCode = (refusal: string) => {
    if (refusal !== "missing_parameter" || code !== undefined) return false
    setCode("")
    return true
  }
  const { refused, isBusy, onSubmit } = useSubmit(() => proveIdentity(password, code), done, askCode)
  return (
    <form onSubmit={onSubmit} aria-label="Confirm your password">
      <input type="text" hidden readOnly autoComplete="username" value={session.get()?.user.email ?? ""} />
      <div className="field">
        <label htmlFor="step-up-password">Password</label>
        <input
          id="step-up-password"
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={event => setPassword(event.target.value)}
        />
      </div>
      {code !== undefined && <CodeField code={code} onCode={setCode} />}
      <Refused text={refused} />
      <p className="buttons">
        <button type="submit" disabled={isBusy}>
          Continue
        </button>
      </p>
    </form>
  )
}

/** Over the page that asked: what was typed there stays, and the request is sent again. */
export const Questions = () => {
  const asked = question.use()
  if (!asked) return null
  const { kind, done } = asked
  return kind === "sign-in" ? (
    <Modal label="Sign in again" onClose={() => done(false)}>
      <h2>Your session has ended</h2>
      <p>Sign in to go on. What you typed stays.</p>
      <SignInForm done={() => done(true)} />
    </Modal>
  ) : (
    <Modal label="Confirm your password" onClose={() => done(false)}>
      <h2>Confirm that it is you</h2>
      <p>This needs your password once more.</p>
      <StepUpForm done={() => done(true)} />
    </Modal>
  )
}
