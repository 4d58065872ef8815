"""Every name in storage, made here and nowhere else.

The jobs bucket holds what users drop and read (``specs/``, ``code/``, ``jobs/<id>/{spec,status,...}.json``,
``results/``, ``errors/``) and, below ``work/``, the engine's own working keys. Those lie under a prefix of
their own, not beside the job's documents, because a lifecycle rule can only name a prefix, and they are the part
that expires.

Working keys begin with two digits of a hash. S3 serves some 3,500 writes and 5,500 reads a second from one part of the
key space and splits a part only after it has been busy for a while; below a prefix that is a job's own every job would
begin with one part. What has been split by digits for one job serves the next. The keys of which a job has many at once
(claims, shuffle objects) are spread over several such places, one for each thousand tasks: to list them takes no more
requests than it would in one place, since an answer holds a thousand keys.
"""

from __future__ import annotations

import math
import re
from hashlib import md5

SPECS = "specs/"
CODE = "code/"
SUBMITTED = "submitted/"
JOBS = "jobs/"
WORK = "work/"
PART = "part-"
RECORDS = "records/"
MODELS = "models/"
QUARANTINE = "quarantine/"
BATCHES = "batches/"
ALGORITHM = re.compile("[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""Names of algorithms, which are a part of keys: of 1 to 64 letters, digits, hyphens, dots and underscores."""
_PLACE_KEYS = 1000
_MOST_PLACES = 256


def code(sha256: str) -> str:
    """A user's code or payload, named by its content."""
    return f"{CODE}{sha256}"


def submitted(spec_key: str) -> str:
    """Where a user who dropped ``specs/<name>.json`` finds the id of the job that it became."""
    return SUBMITTED + spec_key.removeprefix(SPECS)


def job(job_id: str) -> str:
    """Prefix of everything that belongs to one job."""
    return f"{JOBS}{job_id}/"


def claim(job_id: str) -> str:
    """Created once by the execution that owns the job; a second execution finds it and does nothing."""
    return job(job_id) + "claim.json"


def spec(job_id: str) -> str:
    """The job document, checked and with every default filled in."""
    return job(job_id) + "spec.json"


def profile(job_id: str) -> str:
    """What Prepare measured of the input: bytes, objects, items, a sample."""
    return job(job_id) + "profile.json"


def forecast(job_id: str) -> str:
    """What the model expected for every scale-out, and the choice."""
    return job(job_id) + "forecast.json"


def plan(job_id: str) -> str:
    """The job's stages, and where in them it is."""
    return job(job_id) + "plan.json"


def status(job_id: str) -> str:
    """How the job is doing, for anyone to read."""
    return job(job_id) + "status.json"


def record(job_id: str) -> str:
    """The execution record, as it stands in the records bucket too."""
    return job(job_id) + "record.json"


def report(job_id: str) -> str:
    """The page that explains the job."""
    return job(job_id) + "report.html"


def results(job_id: str) -> str:
    """Prefix of the results, unless the job names an output of its own."""
    return job(job_id) + "results/"


def part(task: int, suffix: str) -> str:
    """Name of one output part below the results prefix; names sort in task order."""
    return f"{PART}{task:06d}.{suffix}"


def parts(job_id: str) -> str:
    """How many results each part of the result holds."""
    return job(job_id) + "parts.json"


def errors(job_id: str) -> str:
    """Prefix of the failed items."""
    return job(job_id) + "errors/"


def error(job_id: str, stage: str, index: int) -> str:
    """One failed item of a stage, in full."""
    return f"{errors(job_id)}{stage}-{index:08d}.json"


def work(job_id: str) -> str:
    """Prefix of the engine's working keys, but for those that are spread."""
    return _place(job_id, 0)


def places(job_id: str, of: int) -> list[str]:
    """Prefixes over which the keys of ``of`` tasks are spread, in order; `work` is one of them."""
    return sorted({_place(job_id, number) for number in range(_spread(of))})


def _spread(of: int) -> int:
    return min(_MOST_PLACES, max(1, math.ceil(of / _PLACE_KEYS)))


def _place(job_id: str, number: int) -> str:
    digits = md5(f"{job_id}/{number}".encode(), usedforsecurity=False).hexdigest()[:2]
    return f"{WORK}{digits}/{job_id}/"


def _place_of(job_id: str, task: int, tasks: int) -> str:
    """The place of one of so many tasks. Neighbours lie apart, since they are asked for at the same time."""
    return _place(job_id, task % _spread(tasks))


def cancel(job_id: str) -> str:
    """Its existence tells every worker to stop."""
    return work(job_id) + "cancel.json"


def items(job_id: str) -> str:
    """The items of the job, framed one after the other."""
    return work(job_id) + "items"


def index(items_key: str) -> str:
    """Where in an items object each item lies."""
    return items_key + ".index"


def tasks(job_id: str, stage: str) -> str:
    """The table of a stage's tasks: which bytes or items each one covers. Kept with the job: results are read by it."""
    return f"{job(job_id)}{stage}-tasks.json"


def claims(job_id: str, stage: str, round_: int, tasks: int) -> list[str]:
    """Prefixes of the claims of one round of a stage of so many tasks."""
    return [f"{place}{stage}/claims/{round_}/" for place in places(job_id, tasks)]


def claims_beside(job_id: str, stage: str, round_: int, task: int, tasks: int) -> str:
    """That of these prefixes under which the claim of one task lies."""
    return f"{_place_of(job_id, task, tasks)}{stage}/claims/{round_}/"


def tasks_beside(task: int, tasks: int) -> range:
    """The tasks of so many whose claims lie where this one's does."""
    spread = _spread(tasks)
    return range(task % spread, tasks, spread)


def task_claim(job_id: str, stage: str, round_: int, task: int, tasks: int) -> str:
    """Created by the worker that runs the task in this round."""
    return f"{claims_beside(job_id, stage, round_, task, tasks)}{task:06d}"


def rest_claim(claim: str, start: int) -> str:
    """Beside a task's claim, created by the worker that runs its positions from ``start`` on, which were offered."""
    return f"{claim}.{start:09d}"


def shuffled(job_id: str, stage: str, tasks: int) -> list[str]:
    """Prefixes of the shuffle objects that a stage writes, one object for each of its tasks."""
    return [f"{place}{stage}/out/" for place in places(job_id, tasks)]


def shuffle_part(job_id: str, stage: str, task: int, tasks: int) -> str:
    """What one map task wrote for the reducers."""
    return f"{_place_of(job_id, task, tasks)}{stage}/out/{task:06d}"


def left(job_id: str, stage: str, round_: int) -> str:
    """Which tasks are left for a round that is not the stage's first, the most urgent first."""
    return f"{work(job_id)}{stage}/left/{round_}.json"


def merge_pieces(job_id: str, task: int) -> str:
    """What a merge task of a sort takes of each run."""
    return f"{work(job_id)}merge/pieces/{task:06d}.json"


def partials(job_id: str, stage: str) -> str:
    """Prefix of what tasks had done when their worker's time was up."""
    return f"{work(job_id)}{stage}/partial/"


def task_partials(job_id: str, stage: str, task: int) -> str:
    """Prefix of those of one task."""
    return f"{partials(job_id, stage)}{task:06d}/"


def partial(job_id: str, stage: str, task: int, start: int = 0) -> str:
    """Results of a task's positions from ``start`` on, as far as somebody got; another goes on behind them."""
    return f"{task_partials(job_id, stage, task)}{start:09d}"


def trails(job_id: str, stage: str) -> str:
    """Prefix of the notes on tasks that took their worker down, or were cut off at its end."""
    return f"{work(job_id)}{stage}/trail/"


def task_trails(job_id: str, stage: str, task: int) -> str:
    """Prefix of those on one task."""
    return f"{trails(job_id, stage)}{task:06d}/"


def trail(job_id: str, stage: str, task: int, start: int = 0) -> str:
    """Which positions of a dangerous task are being tried, and what became of those before."""
    return f"{task_trails(job_id, stage, task)}{start:09d}"


def redone_tasks(job_id: str, stage: str) -> str:
    """Prefix of the marks on tasks that a resumed job has done again."""
    return f"{work(job_id)}{stage}/redone/"


def redone(job_id: str, stage: str, round_: int, task: int) -> str:
    """Exists once a task that a resumed job had to do again, from this round on, is done."""
    return f"{redone_tasks(job_id, stage)}{round_}/{task:06d}"


def fatal(job_id: str) -> str:
    """Why no task of the job can run at all (its code does not load, its input is damaged)."""
    return work(job_id) + "fatal.json"


def logs(job_id: str) -> str:
    """Prefix of what user code printed."""
    return job(job_id) + "logs/"


def log(job_id: str, stage: str, task: int) -> str:
    """What user code printed while it ran a task."""
    return f"{logs(job_id)}{stage}-{task:06d}.txt"


def worker_reports(job_id: str, stage: str) -> str:
    """Prefix of what each worker invocation says it did and measured."""
    return f"{work(job_id)}{stage}/workers/"


def worker_report(job_id: str, stage: str, round_: int, worker: int, invocation: str) -> str:
    """What one worker invocation says of itself."""
    return f"{worker_reports(job_id, stage)}{round_}-{worker:05d}-{invocation}.json"


def supersteps(job_id: str) -> str:
    """Prefix of what groups of partitions sent, a folder for each superstep."""
    return f"{work(job_id)}supersteps/"


def superstep(job_id: str, superstep: int) -> str:
    """Prefix of one superstep."""
    return f"{supersteps(job_id)}{superstep:07d}/"


def sent(job_id: str, superstep_: int, group: int) -> str:
    """What one group of partitions sent in one superstep."""
    return f"{superstep(job_id, superstep_)}{group:06d}"


def complete(job_id: str, superstep_: int) -> str:
    """What all groups sent in one superstep; it is complete once this is there."""
    return f"{superstep(job_id, superstep_)}complete"


def checkpoints(job_id: str) -> str:
    """Prefix of the saved states of all groups."""
    return f"{work(job_id)}checkpoints/"


def group_checkpoints(job_id: str, group: int) -> str:
    """Prefix of the saved states of one group; the last of them counts."""
    return f"{checkpoints(job_id)}{group:06d}/"


def checkpoint(job_id: str, group: int, superstep_: int) -> str:
    """The states of a group after a superstep."""
    return f"{group_checkpoints(job_id, group)}{superstep_:07d}"


def gathering(job_id: str, round_: int) -> str:
    """Prefix of what says which workers of a round have come together."""
    return f"{work(job_id)}gathering/{round_}/"


def presence(job_id: str, round_: int, worker: int) -> str:
    """Exists once a worker of the round has started."""
    return f"{gathering(job_id, round_)}{worker:05d}"


def parting(job_id: str, round_: int) -> str:
    """Exists once workers of the round have given up waiting for those that never came."""
    return f"{gathering(job_id, round_)}parting"


def parameter_slice(job_id: str, number: int) -> str:
    """One slice of shared parameters, as it is now."""
    return f"{work(job_id)}parameters/slices/{number:03d}"


def given_parameters(job_id: str) -> str:
    """Parameters as a job's document gives them."""
    return f"{work(job_id)}parameters/given.json"


def going(job_id: str) -> str:
    """How far a running job of supersteps is, and its aggregates there; the client shows it as part of the status."""
    return f"{work(job_id)}going.json"


def ending(job_id: str) -> str:
    """Why and after how many supersteps a job of supersteps ended, and its aggregates."""
    return f"{work(job_id)}ending.json"


def execution_record(algorithm: str, job_id: str, started_at: str) -> str:
    """Key in the records bucket of the execution record of one job, by the ISO 8601 time at which it started."""
    return f"{RECORDS}{algorithm}/{started_at[:10].replace('-', '/')}/{job_id}.json"


def model(algorithm: str, version: str) -> str:
    """The model itself."""
    return f"{MODELS}{algorithm}/{version}/model.onnx"


def model_card(algorithm: str, version: str) -> str:
    """What the model was trained on, and how good it is."""
    return f"{MODELS}{algorithm}/{version}/card.json"


def current_model(algorithm: str) -> str:
    """Names the version that serves; moved only by compare-and-swap."""
    return f"{MODELS}{algorithm}/current.json"


def records(algorithm: str) -> str:
    """Prefix in the records bucket of the execution records of one algorithm."""
    return f"{RECORDS}{algorithm}/"


def quarantined(record_key: str) -> str:
    """Where a damaged record is moved to in the records bucket."""
    return QUARANTINE + record_key.removeprefix(RECORDS)


def quarantine_reason(record_key: str) -> str:
    """What is wrong with it."""
    return quarantined(record_key) + ".reason.json"


def models(algorithm: str) -> str:
    """Prefix of all versions of an algorithm's model."""
    return f"{MODELS}{algorithm}/"


def trained_on(algorithm: str, version: str) -> str:
    """Which records a model was trained on, by short digests of their keys and ETags."""
    return f"{MODELS}{algorithm}/{version}/records.json"


def learning(algorithm: str) -> str:
    """Who is learning from an algorithm's records, and what came of it last. Moved by compare-and-swap."""
    return f"{MODELS}{algorithm}/learning.json"


def batch(algorithm: str, batch_: str) -> str:
    """The messages that one training answers, in the models bucket."""
    return f"{BATCHES}{algorithm}/{batch_}.json"


def deployment_parameter(stage: str) -> str:
    """Name of the SSM parameter that says where everything of a stage is."""
    return f"/bellwren/{stage}"
