#!/bin/sh
# A job from a JSON file, with the AWS command line and nothing else: no Python, no client of Bellwren.
#
#     $ sh examples/json_job.sh
#     SUCCEEDED
#     {"key":"a","value":2}
#     {"key":"be","value":2}
#     {"key":"not","value":1}
#     {"key":"or","value":1}
#     {"key":"question","value":1}
#     {"key":"that","value":1}
#     {"key":"to","value":2}
set -eu

# Where things are: the deployment says so in one parameter of the Systems Manager.
stage=${BELLWREN_STAGE:-dev}
about=$(aws ssm get-parameter --name "/bellwren/$stage" --query Parameter.Value --output text)
text_at() { grep -o "\"$1\": *\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4; }  # a text in JSON; jq, if you have it, does more
jobs=$(echo "$about" | text_at jobs_bucket)
data=$(echo "$about" | text_at data_bucket)

# The input, and the job: a document that is dropped into specs/.
name=hamlet-$$
printf 'to be or not to be\nthat a question a\n' | aws s3 cp --quiet - "s3://$data/examples/hamlet.txt"
printf '{"bellwren": 1, "algorithm": "wordcount", "input": {"lines": "s3://%s/examples/hamlet.txt"}}' "$data" |
    aws s3 cp --quiet - "s3://$jobs/specs/$name.json"

# S3's event starts it. submitted/ says which job it became, jobs/<id>/status.json how it is doing.
status=
for _ in $(seq 60); do
    job=$(aws s3 cp --quiet "s3://$jobs/submitted/$name.json" - 2>/dev/null | text_at job_id)
    [ -z "$job" ] || status=$(aws s3 cp --quiet "s3://$jobs/jobs/$job/status.json" - 2>/dev/null | text_at status)
    case $status in SUCCEEDED | FAILED | REJECTED) break ;; esac
    sleep 1
done

echo "$status"
results=$(mktemp -d)
aws s3 cp --quiet --recursive "s3://$jobs/jobs/$job/results/" "$results"
cat "$results"/* | sort
rm -r "$results"
