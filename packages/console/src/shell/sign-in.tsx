import { type FormEvent, useState } from "react"
import { problemOf, question, type Received } from "../calls.ts"
import { loadSession, proveIdentity, session, signIn } from "../session.ts"
import { Modal } from "../ui/modal.tsx"
import { Mark } from "./mark.tsx"

const useSubmit = (submit: () => Promise<Received>, done: () => void) => {
  const [refused, setRefused] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const onSubmit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setRefused(undefined)
    try {
      const problem = problemOf(await submit())
      if (problem) setRefused(problem.error)
      else done()
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

const SignInForm = ({ done }: { readonly done: () => void }) => {
  const [email, setEmail] = useState(session.get()?.user.email ?? "")
  const [password, setPassword] = useState("")
  const { refused, isBusy, onSubmit } = useSubmit(() => signIn(email, password), done)
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
  const { refused, isBusy, onSubmit } = useSubmit(() => proveIdentity(password), done)
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
