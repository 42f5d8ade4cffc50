-- Money of organizations, in millionths of the installation's currency. Double entry: a transfer takes from one account of an
-- organization and gives to another, so that the accounts of an organization together are always zero.
--   cash     paid from outside; never above zero, because it is a source
--   grants   given by the operator; a source too
--   credit   what can be spent; never below zero
--   overage  spent beyond the credit and owed; never above zero
--   revenue  charged
--   expired  credit whose time was over
-- What is held for something under way is pending: it is still credit, and nothing else can have it.
CREATE TABLE ledger.wallets (
  organization_id uuid PRIMARY KEY,
  cash_micros bigint NOT NULL DEFAULT 0 CHECK (cash_micros <= 0),
  grants_micros bigint NOT NULL DEFAULT 0 CHECK (grants_micros <= 0),
  credit_micros bigint NOT NULL DEFAULT 0 CHECK (credit_micros >= 0),
  overage_micros bigint NOT NULL DEFAULT 0 CHECK (overage_micros <= 0),
  revenue_micros bigint NOT NULL DEFAULT 0 CHECK (revenue_micros >= 0),
  expired_micros bigint NOT NULL DEFAULT 0 CHECK (expired_micros >= 0),
  -- Of holds that are neither posted nor voided: from the credit, and beyond it.
  held_micros bigint NOT NULL DEFAULT 0,
  held_overage_micros bigint NOT NULL DEFAULT 0 CHECK (held_overage_micros >= 0),
  -- Null: nothing is served beyond the credit.
  overage_limit_micros bigint CHECK (overage_limit_micros > 0),
  -- Null: a month may cost anything.
  cap_micros bigint CHECK (cap_micros >= 0),
  cap_action text COLLATE "C" NOT NULL DEFAULT 'stop' CHECK (cap_action IN ('stop', 'notify')),
  -- The month that `month_micros` was charged in.
  month date NOT NULL,
  month_micros bigint NOT NULL DEFAULT 0,
  -- Nothing expires before. Null: nothing does.
  next_expiry_at timestamptz,
  -- Of the last transfer.
  sequence bigint NOT NULL DEFAULT 0,
  updated_at timestamptz NOT NULL,
  CONSTRAINT wallets_sum_is_zero CHECK (
    cash_micros + grants_micros + credit_micros + overage_micros + revenue_micros + expired_micros = 0),
  CONSTRAINT wallets_held_is_there CHECK (held_micros >= 0 AND held_micros <= credit_micros)
) WITH (fillfactor = 50);

CREATE TABLE ledger.transfers (
  organization_id uuid NOT NULL,
  -- Without gaps, from 1.
  sequence bigint NOT NULL,
  id uuid NOT NULL,
  type text COLLATE "C" NOT NULL,
  debit_account text COLLATE "C" NOT NULL,
  credit_account text COLLATE "C" NOT NULL,
  amount_micros bigint NOT NULL CHECK (amount_micros > 0),
  -- Of the credit.
  balance_after_micros bigint NOT NULL,
  -- Names what the money was for: the same reference moves money once, however often it is asked for.
  reference text COLLATE "C" NOT NULL,
  description text NOT NULL,
  expires_at timestamptz,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, sequence),
  CHECK (debit_account <> credit_account)
);
CREATE UNIQUE INDEX transfers_reference ON ledger.transfers (organization_id, reference, debit_account, credit_account);

CREATE FUNCTION ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'transfers do not change: a wrong one is put right by another one';
END $$;
CREATE TRIGGER transfers_do_not_change BEFORE UPDATE OR DELETE ON ledger.transfers
  FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER transfers_are_not_emptied BEFORE TRUNCATE ON ledger.transfers
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

-- Credit by where it came from. What is left of all of them together is the credit of the wallet.
CREATE TABLE ledger.lots (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('promotional', 'paid')),
  amount_micros bigint NOT NULL CHECK (amount_micros > 0),
  left_micros bigint NOT NULL CHECK (left_micros >= 0 AND left_micros <= amount_micros),
  expires_at timestamptz,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, id)
);
CREATE INDEX lots_left ON ledger.lots (organization_id, expires_at, kind DESC, id) WHERE left_micros > 0;
CREATE INDEX lots_expiry ON ledger.lots (expires_at) WHERE left_micros > 0 AND expires_at IS NOT NULL;

CREATE TABLE ledger.holds (
  organization_id uuid NOT NULL,
  reference text COLLATE "C" NOT NULL,
  credit_micros bigint NOT NULL CHECK (credit_micros >= 0),
  overage_micros bigint NOT NULL CHECK (overage_micros >= 0),
  -- Charged where nobody posts it in time, because its process died.
  owed_micros bigint NOT NULL,
  description text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, reference)
);
CREATE INDEX holds_expires_at ON ledger.holds (expires_at);

-- The balances of the wallets, a row an account.
CREATE VIEW ledger.accounts AS
  SELECT organization_id, account, balance_micros
  FROM ledger.wallets, LATERAL (VALUES
    ('cash', cash_micros), ('grants', grants_micros), ('credit', credit_micros),
    ('overage', overage_micros), ('revenue', revenue_micros), ('expired', expired_micros)
  ) AS a (account, balance_micros);

-- Writes a transfer and its effect on the wallet, which the caller has locked.
CREATE FUNCTION ledger.move(
  p_wallet ledger.wallets, p_type text, p_from text, p_to text, p_amount bigint,
  p_reference text, p_description text, p_expires_at timestamptz, p_now timestamptz
) RETURNS ledger.wallets LANGUAGE plpgsql AS $$
DECLARE
  w ledger.wallets := p_wallet;
BEGIN
  w.sequence := w.sequence + 1;
  w.updated_at := p_now;
  w.cash_micros := w.cash_micros + CASE 'cash' WHEN p_to THEN p_amount WHEN p_from THEN -p_amount ELSE 0 END;
  w.grants_micros := w.grants_micros + CASE 'grants' WHEN p_to THEN p_amount WHEN p_from THEN -p_amount ELSE 0 END;
  w.credit_micros := w.credit_micros + CASE 'credit' WHEN p_to THEN p_amount WHEN p_from THEN -p_amount ELSE 0 END;
  w.overage_micros := w.overage_micros + CASE 'overage' WHEN p_to THEN p_amount WHEN p_from THEN -p_amount ELSE 0 END;
  w.revenue_micros := w.revenue_micros + CASE 'revenue' WHEN p_to THEN p_amount WHEN p_from THEN -p_amount ELSE 0 END;
  w.expired_micros := w.expired_micros + CASE 'expired' WHEN p_to THEN p_amount WHEN p_from THEN -p_amount ELSE 0 END;
  INSERT INTO ledger.transfers VALUES (
    w.organization_id, w.sequence, gen_random_uuid(), p_type, p_from, p_to, p_amount, w.credit_micros,
    p_reference, p_description, p_expires_at, p_now);
  RETURN w;
END $$;

-- Writes a wallet back.
CREATE FUNCTION ledger.keep(w ledger.wallets) RETURNS void LANGUAGE sql AS $$
  UPDATE ledger.wallets SET
    cash_micros = w.cash_micros, grants_micros = w.grants_micros, credit_micros = w.credit_micros,
    overage_micros = w.overage_micros, revenue_micros = w.revenue_micros, expired_micros = w.expired_micros,
    held_micros = w.held_micros, held_overage_micros = w.held_overage_micros,
    month = w.month, month_micros = w.month_micros, next_expiry_at = w.next_expiry_at,
    sequence = w.sequence, updated_at = w.updated_at
  WHERE organization_id = w.organization_id
$$;

-- The wallet at p_now, locked until the transaction ends. Credit whose time is over is gone, but what is held of it.
CREATE FUNCTION ledger.lock_wallet(p_organization uuid, p_now timestamptz) RETURNS ledger.wallets LANGUAGE plpgsql AS $$
DECLARE
  v_month date := date_trunc('month', p_now AT TIME ZONE 'UTC')::date;
  w ledger.wallets;
  v_lot ledger.lots;
  v_amount bigint;
BEGIN
  SELECT * INTO w FROM ledger.wallets WHERE organization_id = p_organization FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO ledger.wallets (organization_id, month, updated_at) VALUES (p_organization, v_month, p_now)
    ON CONFLICT DO NOTHING;
    SELECT * INTO w FROM ledger.wallets WHERE organization_id = p_organization FOR UPDATE;
  END IF;
  IF w.month < v_month THEN
    w.month := v_month;
    w.month_micros := 0;
  END IF;
  IF w.next_expiry_at <= p_now THEN
    FOR v_lot IN
      SELECT * FROM ledger.lots
      WHERE organization_id = p_organization AND left_micros > 0 AND expires_at <= p_now ORDER BY expires_at, id
    LOOP
      v_amount := least(v_lot.left_micros, w.credit_micros - w.held_micros);
      CONTINUE WHEN v_amount = 0;
      UPDATE ledger.lots SET left_micros = left_micros - v_amount
      WHERE organization_id = p_organization AND id = v_lot.id;
      w := ledger.move(w, 'expiry', 'credit', 'expired', v_amount,
        'expiry:' || v_lot.id || ':' || (v_lot.left_micros - v_amount), 'Credit expired', NULL, p_now);
    END LOOP;
    SELECT min(expires_at) INTO w.next_expiry_at FROM ledger.lots
    WHERE organization_id = p_organization AND left_micros > 0;
    PERFORM ledger.keep(w);
  END IF;
  RETURN w;
END $$;

-- Takes an amount from the lots: what expires first, promotional before paid, oldest.
CREATE FUNCTION ledger.use_lots(p_organization uuid, p_amount bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_left bigint := p_amount;
  v_lot ledger.lots;
  v_part bigint;
BEGIN
  FOR v_lot IN
    SELECT * FROM ledger.lots WHERE organization_id = p_organization AND left_micros > 0
    ORDER BY expires_at, kind DESC, id
  LOOP
    EXIT WHEN v_left = 0;
    v_part := least(v_left, v_lot.left_micros);
    UPDATE ledger.lots SET left_micros = left_micros - v_part
    WHERE organization_id = p_organization AND id = v_lot.id;
    v_left := v_left - v_part;
  END LOOP;
  IF v_left > 0 THEN
    RAISE EXCEPTION 'the lots of % are short of % of its credit', p_organization, v_left;
  END IF;
END $$;

-- Holds money for many charges in one commit. `p_least`: with less the thing is not worth doing; `p_owed`: what is charged
-- where nobody ends the hold. A reference that is held already gets its first answer again.
CREATE FUNCTION ledger.hold(
  p_organizations uuid[], p_references text[], p_least bigint[], p_most bigint[], p_owed bigint[], p_descriptions text[],
  p_now timestamptz, p_expires_at timestamptz
) RETURNS TABLE (n integer, granted bigint, refusal text) LANGUAGE plpgsql AS $$
DECLARE
  v_asked record;
  w ledger.wallets;
  v_free bigint;
  v_beyond bigint;
  v_cap bigint;
  v_credit bigint;
BEGIN
  -- A power failure may lose the last half second of holds, a killed process nothing.
  PERFORM set_config('synchronous_commit', 'off', true);
  -- In one order, so that two processes never wait for each other.
  FOR v_asked IN
    SELECT * FROM unnest(p_organizations, p_references, p_least, p_most, p_owed, p_descriptions) WITH ORDINALITY
      AS asked (organization_id, reference, least, most, owed, description, n)
    ORDER BY asked.organization_id, asked.n
  LOOP
    IF w.organization_id IS DISTINCT FROM v_asked.organization_id THEN
      IF w.organization_id IS NOT NULL THEN PERFORM ledger.keep(w); END IF;
      w := ledger.lock_wallet(v_asked.organization_id, p_now);
    END IF;
    n := v_asked.n;
    refusal := NULL;
    SELECT h.credit_micros + h.overage_micros INTO granted FROM ledger.holds h
    WHERE h.organization_id = v_asked.organization_id AND h.reference = v_asked.reference;
    IF FOUND THEN
      RETURN NEXT;
      CONTINUE;
    END IF;
    v_free := w.credit_micros - w.held_micros;
    v_beyond := greatest(coalesce(w.overage_limit_micros, 0) + w.overage_micros - w.held_overage_micros, 0);
    v_cap := CASE WHEN w.cap_action = 'stop' AND w.cap_micros IS NOT NULL THEN
      greatest(w.cap_micros - w.month_micros - w.held_micros - w.held_overage_micros, 0) END;
    granted := least(v_asked.most, v_free + v_beyond, v_cap);
    IF granted < v_asked.least THEN
      refusal := CASE WHEN v_cap < v_asked.least THEN 'cap' ELSE 'credit' END;
      granted := 0;
      RETURN NEXT;
      CONTINUE;
    END IF;
    v_credit := least(granted, v_free);
    w.held_micros := w.held_micros + v_credit;
    w.held_overage_micros := w.held_overage_micros + granted - v_credit;
    INSERT INTO ledger.holds VALUES (
      v_asked.organization_id, v_asked.reference, v_credit, granted - v_credit, least(v_asked.owed, granted),
      v_asked.description, p_expires_at);
    RETURN NEXT;
  END LOOP;
  IF w.organization_id IS NOT NULL THEN PERFORM ledger.keep(w); END IF;
END $$;

-- Ends holds: what things cost is charged and the rest is free again; a cost of null is that of the hold itself, 0 voids it.
-- A cost above the hold is charged as far as there is credit, or overage. Of a hold that is gone (its time was over) the cost
-- is charged all the same, once. Gives what was charged now.
CREATE FUNCTION ledger.post(
  p_organizations uuid[], p_references text[], p_costs bigint[], p_descriptions text[], p_now timestamptz
) RETURNS TABLE (n integer, charged bigint) LANGUAGE plpgsql AS $$
DECLARE
  v_ended record;
  w ledger.wallets;
  v_hold ledger.holds;
  v_cost bigint;
  v_credit bigint;
  v_beyond bigint;
  v_used bigint := 0;
BEGIN
  FOR v_ended IN
    SELECT * FROM unnest(p_organizations, p_references, p_costs, p_descriptions) WITH ORDINALITY
      AS ended (organization_id, reference, cost, description, n)
    ORDER BY ended.organization_id, ended.n
  LOOP
    IF w.organization_id IS DISTINCT FROM v_ended.organization_id THEN
      IF w.organization_id IS NOT NULL THEN
        PERFORM ledger.use_lots(w.organization_id, v_used), ledger.keep(w);
      END IF;
      w := ledger.lock_wallet(v_ended.organization_id, p_now);
      v_used := 0;
    END IF;
    n := v_ended.n;
    charged := 0;
    DELETE FROM ledger.holds h
    WHERE h.organization_id = v_ended.organization_id AND h.reference = v_ended.reference
    RETURNING * INTO v_hold;
    IF FOUND THEN
      w.held_micros := w.held_micros - v_hold.credit_micros;
      w.held_overage_micros := w.held_overage_micros - v_hold.overage_micros;
    END IF;
    v_cost := coalesce(v_ended.cost, v_hold.owed_micros, 0);
    IF v_cost > 0 AND NOT EXISTS (
      SELECT FROM ledger.transfers t
      WHERE t.organization_id = v_ended.organization_id AND t.reference = v_ended.reference)
    THEN
      v_credit := least(v_cost, w.credit_micros - w.held_micros);
      v_beyond := least(v_cost - v_credit, greatest(
        v_hold.overage_micros, coalesce(w.overage_limit_micros, 0) + w.overage_micros - w.held_overage_micros, 0));
      IF v_credit > 0 THEN
        w := ledger.move(w, 'charge', 'credit', 'revenue', v_credit, v_ended.reference,
          coalesce(v_ended.description, v_hold.description, ''), NULL, p_now);
      END IF;
      IF v_beyond > 0 THEN
        w := ledger.move(w, 'overage', 'overage', 'revenue', v_beyond, v_ended.reference,
          coalesce(v_ended.description, v_hold.description, ''), NULL, p_now);
      END IF;
      charged := v_credit + v_beyond;
      w.month_micros := w.month_micros + charged;
      v_used := v_used + v_credit;
    END IF;
    RETURN NEXT;
  END LOOP;
  IF w.organization_id IS NOT NULL THEN
    PERFORM ledger.use_lots(w.organization_id, v_used), ledger.keep(w);
  END IF;
END $$;

-- Charges without a hold. With p_partial as much as there is, otherwise all or nothing. The same reference charges once.
CREATE FUNCTION ledger.charge(
  p_organization uuid, p_reference text, p_amount bigint, p_partial boolean, p_description text, p_now timestamptz
) RETURNS TABLE (charged bigint, refusal text) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM ledger.lock_wallet(p_organization, p_now);
  SELECT sum(t.amount_micros) INTO charged FROM ledger.transfers t
  WHERE t.organization_id = p_organization AND t.reference = p_reference;
  IF charged IS NOT NULL THEN
    RETURN NEXT;
    RETURN;
  END IF;
  SELECT h.granted, h.refusal INTO charged, refusal FROM ledger.hold(
    ARRAY[p_organization], ARRAY[p_reference], ARRAY[CASE WHEN p_partial THEN 0 ELSE p_amount END], ARRAY[p_amount],
    ARRAY[0::bigint], ARRAY[p_description], p_now, p_now) h;
  IF refusal IS NULL THEN
    SELECT p.charged INTO charged FROM ledger.post(
      ARRAY[p_organization], ARRAY[p_reference], ARRAY[charged], ARRAY[p_description], p_now) p;
  END IF;
  -- What is charged this way must not be lost with the power.
  PERFORM set_config('synchronous_commit', 'on', true);
  RETURN NEXT;
END $$;

-- Adds credit; what is owed is paid from it first. False where the reference has done so before.
CREATE FUNCTION ledger.add(
  p_organization uuid, p_reference text, p_id uuid, p_kind text, p_amount bigint, p_expires_at timestamptz,
  p_description text, p_now timestamptz
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  w ledger.wallets := ledger.lock_wallet(p_organization, p_now);
  v_source text := CASE p_kind WHEN 'paid' THEN 'cash' ELSE 'grants' END;
  v_owed bigint := least(p_amount, -w.overage_micros);
BEGIN
  IF EXISTS (SELECT FROM ledger.transfers WHERE organization_id = p_organization AND reference = p_reference) THEN
    RETURN false;
  END IF;
  IF v_owed > 0 THEN
    w := ledger.move(w, 'overage_payment', v_source, 'overage', v_owed, p_reference, p_description, NULL, p_now);
  END IF;
  IF p_amount > v_owed THEN
    w := ledger.move(w, CASE p_kind WHEN 'paid' THEN 'purchase' ELSE 'grant' END, v_source, 'credit', p_amount - v_owed,
      p_reference, p_description, p_expires_at, p_now);
    INSERT INTO ledger.lots VALUES (p_organization, p_id, p_kind, p_amount - v_owed, p_amount - v_owed, p_expires_at, p_now);
    w.next_expiry_at := least(w.next_expiry_at, p_expires_at);
  END IF;
  PERFORM ledger.keep(w);
  RETURN true;
END $$;

-- A payment for something that is not credit, such as a plan. False where the reference has done so before.
CREATE FUNCTION ledger.sell(
  p_organization uuid, p_reference text, p_amount bigint, p_description text, p_now timestamptz
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  w ledger.wallets := ledger.lock_wallet(p_organization, p_now);
BEGIN
  IF EXISTS (SELECT FROM ledger.transfers WHERE organization_id = p_organization AND reference = p_reference) THEN
    RETURN false;
  END IF;
  PERFORM ledger.keep(ledger.move(w, 'sale', 'cash', 'revenue', p_amount, p_reference, p_description, NULL, p_now));
  RETURN true;
END $$;

-- Ends holds that nobody ended in time, because their process died, and credit whose time is over; gives how many holds.
CREATE FUNCTION ledger.expire(p_now timestamptz, p_most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_organizations uuid[];
  v_references text[];
  v_organization uuid;
BEGIN
  SELECT array_agg(organization_id), array_agg(reference) INTO v_organizations, v_references
  FROM (SELECT organization_id, reference FROM ledger.holds WHERE expires_at <= p_now ORDER BY expires_at LIMIT p_most) AS due;
  IF v_references IS NOT NULL THEN
    PERFORM ledger.post(v_organizations, v_references, array_fill(NULL::bigint, ARRAY[cardinality(v_references)]),
      array_fill(NULL::text, ARRAY[cardinality(v_references)]), p_now);
  END IF;
  FOR v_organization IN
    SELECT DISTINCT l.organization_id FROM ledger.lots l WHERE l.left_micros > 0 AND l.expires_at <= p_now
    ORDER BY 1 LIMIT p_most
  LOOP
    PERFORM ledger.lock_wallet(v_organization, p_now);
  END LOOP;
  RETURN coalesce(cardinality(v_references), 0);
END $$;
